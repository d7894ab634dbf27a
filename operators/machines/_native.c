/* `JsonMachine.feed` in C, on the slots of the Python class.
 *
 * Plain JSON is read here. At all else (an error, a limit, a character that is not printable, half a surrogate pair)
 * the state is written back, and the Python step for it goes on from there. So errors, limits, `dump` and `load` are
 * Python's alone, and a new rule for them needs no line here. The method that this one replaces, `pure_feed`, is its
 * oracle in the tests; it also gets every machine that is not as `__init__` makes one, such as after a hostile `load`.
 *
 * What Python has to keep in step with: the names of the slots and states below, and INTERFACE. `install` takes the
 * slots' offsets from the class, and refuses one that lacks a slot or a step.
 *
 * References: a function returns a new one unless it says "borrowed". A value in a slot is borrowed only as long as no
 * Python code runs; what outlives a step is owned by the Reader. Functions that return int return -1 with an exception
 * set, those that return Py_ssize_t a position, LEAVE or FAILED.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#define INTERFACE 1  /* also in native_readers.py */
#define LEAVE (-2)   /* nothing was read: the Python step has to */
#define FAILED (-1)  /* an exception is set */
#define SAFE_DIGITS 600  /* `int` takes at least 640 digits, however it is configured */

/* ---- What the class has ---- */

enum {
    AT, BARE, BASE, CONTAINERS, ERROR, LIMITS, LONGEST, LONGEST_KEY, NUMBER_STATE, PATH, PENDING, PIECES, READ,
    ROOT_CLOSED, START, STATE, TEXT_PATH, WORD, SLOTS
};

static const struct {
    const char *name;
    char type;  /* i: int, s: str, l: list, t: tuple, o: any object */
} slots[SLOTS] = {
    [AT] = {"at", 'i'}, [BARE] = {"bare", 'l'}, [BASE] = {"_base", 'i'}, [CONTAINERS] = {"_containers", 'l'},
    [ERROR] = {"error", 'o'}, [LIMITS] = {"_limits", 'o'}, [LONGEST] = {"_longest", 'i'},
    [LONGEST_KEY] = {"_longest_key", 'i'}, [NUMBER_STATE] = {"_number_state", 's'}, [PATH] = {"_path", 't'},
    [PENDING] = {"pending", 's'}, [PIECES] = {"_pieces", 'l'}, [READ] = {"read", 'i'},
    [ROOT_CLOSED] = {"root_closed", 'o'}, [START] = {"_start", 'i'}, [STATE] = {"_state", 's'},
    [TEXT_PATH] = {"open_path", 'o'}, [WORD] = {"_word", 's'},
};

static Py_ssize_t offsets[SLOTS];
#define SLOT(machine, slot) (*(PyObject **)((char *)(machine) + offsets[slot]))

/* The strings that both sides use: the states of the machine and of a number, words, and others. */
enum {
    BEGIN, VALUE, ITEM, NEXT_ITEM, KEY, NEXT_KEY, KEY_TEXT, ASSIGN, STRING, IN_WORD, NUMBER, NEXT, END,
    NUMBER_START, SIGN, ZERO, INTEGER, POINT, FRACTION, EXPONENT, POWER_SIGN, POWER, TRUE_WORD, FALSE_WORD, NULL_WORD,
    OPEN, TEXT, SCALAR, DONE, EMPTY, QUOTE, BRACE, BRACKET, BRACE_END, BRACKET_END, DEPTH, NUMBER_LENGTH, NAMES
};
static const char *const spelled[NAMES] = {
    "begin", "value", "item", "next_item", "key", "next_key", "key_text", "assign", "string", "word", "number", "next",
    "end", "start", "sign", "zero", "integer", "point", "fraction", "exponent", "power_sign", "power", "true", "false",
    "null", "OPEN", "TEXT", "SCALAR", "DONE", "", "\"", "{", "[", "}", "]", "depth", "number_length",
};

/* All live as long as the process: the names from the import on, the others from `install` on. */
static PyObject *names[NAMES], *fragment_type, *steps, *pure_feed;

static int has_type(PyObject *value, char type)
{
    switch (value == NULL ? ' ' : type) {
    case 'i': return PyLong_Check(value);
    case 's': return PyUnicode_Check(value);
    case 'l': return PyList_Check(value);
    case 't': return PyTuple_Check(value);
    case 'o': return 1;
    default: return 0;  /* a slot that was never set */
    }
}

/* Whether an integer is an offset, which it sets; so offsets can be subtracted without an overflow. */
static int as_offset(PyObject *number, Py_ssize_t *offset)
{
    *offset = PyLong_AsSsize_t(number);
    if (*offset == -1 && PyErr_Occurred()) PyErr_Clear();
    return *offset >= 0;
}

/* Put a new reference into a slot; -1 if it is NULL. */
static int set_slot(PyObject *machine, int slot, PyObject *value)
{
    if (value == NULL) return -1;
    Py_XSETREF(SLOT(machine, slot), value);
    return 0;
}

/* Return which of some names one is; -1 if none. Those in code are interned, those from `load` are not. */
static int find_name(int first, int last, PyObject *name)
{
    for (int each = first; each <= last; each++)
        if (names[each] == name) return each;
    for (int each = first; each <= last; each++)
        if (PyUnicode_Compare(names[each], name) == 0) return each;
    return -1;
}

/* ---- The text of strings ---- */

typedef struct {
    int kind;
    const void *data;
    Py_ssize_t length;
} Chars;

#define CHAR(chars, at) PyUnicode_READ((chars)->kind, (chars)->data, at)

enum { CUT = -1, WRONG = -2 };  /* The text ends within an escape; or it is an error, or half of a surrogate pair. */

static int hex_digit(Py_UCS4 c)
{
    return c >= '0' && c <= '9' ? (int)c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (int)(c | 32) - 'a' + 10 : -1;
}

/* Return what four hex digits say, CUT or WRONG. */
static int read_unit(const Chars *chars, Py_ssize_t at)
{
    int unit = 0;
    for (Py_ssize_t end = at + 4; at < end; at++) {
        if (at >= chars->length) return CUT;
        int digit = hex_digit(CHAR(chars, at));
        if (digit < 0) return WRONG;
        unit = unit << 4 | digit;
    }
    return unit;
}

/* Return how many characters an escape takes, or CUT, or WRONG; set the one that it stands for. */
static int read_escape(const Chars *chars, Py_ssize_t at, Py_UCS4 *decoded)
{
    if (at + 1 >= chars->length) return CUT;
    switch (*decoded = CHAR(chars, at + 1)) {
    case '"': case '\\': case '/': return 2;
    case 'b': *decoded = '\b'; return 2;
    case 'f': *decoded = '\f'; return 2;
    case 'n': *decoded = '\n'; return 2;
    case 'r': *decoded = '\r'; return 2;
    case 't': *decoded = '\t'; return 2;
    case 'u': break;
    default: return WRONG;
    }
    int high = read_unit(chars, at + 2);
    *decoded = (Py_UCS4)high;
    if (high < 0xD800 || high > 0xDFFF) return high < 0 ? high : 6;
    /* Each character of the low half is looked at as it comes: what can be none is not waited for. */
    if (high > 0xDBFF || (at + 6 < chars->length && CHAR(chars, at + 6) != '\\')
        || (at + 7 < chars->length && CHAR(chars, at + 7) != 'u')
        || (at + 8 < chars->length && hex_digit(CHAR(chars, at + 8)) != 0xD)
        || (at + 9 < chars->length && hex_digit(CHAR(chars, at + 9)) < 0xC))
        return WRONG;
    int low = read_unit(chars, at + 8);
    *decoded = 0x10000 + ((Py_UCS4)(high - 0xD800) << 10) + (Py_UCS4)(low - 0xDC00);
    return low < 0 ? low : 12;
}

/* Text of a string up to where it stops: at its closing quote, at an escape that is cut, or at the end of the text. */
typedef struct {
    Py_ssize_t begin, stop;
    Py_ssize_t length;  /* decoded */
    Py_UCS4 widest;
    int has_escapes;
} Run;

/* Measure the run from a position on; return 0 if something in it is not plain. */
static int measure(const Chars *chars, Py_ssize_t at, Run *run)
{
    *run = (Run){.begin = at};
    while (at < chars->length) {
        Py_UCS4 c = CHAR(chars, at);
        int taken = 1;
        if (c == '"') break;
        if (c == '\\') {
            taken = read_escape(chars, at, &c);
            if (taken == WRONG) return 0;
            if (taken == CUT) break;
            run->has_escapes = 1;
        }
        else if (c < 128 ? c < 32 || c == 127 : !Py_UNICODE_ISPRINTABLE(c)) return 0;
        run->widest = c > run->widest ? c : run->widest;
        run->length++;
        at += taken;
    }
    run->stop = at;
    return 1;
}

/* Return the characters of a text that a run has, decoded. */
static PyObject *decode(PyObject *text, const Chars *chars, const Run *run)
{
    if (!run->has_escapes)  /* the text itself, if that is all of it */
        return PyUnicode_Substring(text, run->begin, run->stop);
    PyObject *decoded = PyUnicode_New(run->length, run->widest);
    if (decoded == NULL) return NULL;
    int kind = PyUnicode_KIND(decoded);
    void *data = PyUnicode_DATA(decoded);
    Py_ssize_t at = run->begin;
    for (Py_ssize_t to = 0; to < run->length; to++) {
        Py_UCS4 c = CHAR(chars, at);
        at += c == '\\' ? read_escape(chars, at, &c) : 1;
        PyUnicode_WRITE(kind, data, to, c);
    }
    return decoded;
}

/* ---- Fragments and paths ---- */

static PyObject *fragment(PyObject *path, int kind, PyObject *value, Py_ssize_t at)
{
    PyObject *offset = PyLong_FromSsize_t(at);
    if (offset == NULL) return NULL;
    PyObject *fields[] = {path, names[kind], value, offset};
    PyObject *made = PyObject_Vectorcall(fragment_type, fields, 4, NULL);
    Py_DECREF(offset);
    return made;
}

/* ---- Reading ---- */

typedef struct {
    PyObject *machine, *text, *out;  /* borrowed from the caller */
    PyObject *path, *containers;     /* owned */
    Chars chars;
    Py_ssize_t base, end;  /* the offsets of the first character of the text, and of its end */
    int state;
} Reader;

/* Add a fragment; it takes over the reference to `value`, and fails if that is NULL. */
static int emit(Reader *reader, int kind, PyObject *value, Py_ssize_t at)
{
    PyObject *made = value == NULL ? NULL : fragment(reader->path, kind, value, at);
    Py_XDECREF(value);
    if (made == NULL) return -1;
    int failed = PyList_Append(reader->out, made);
    Py_DECREF(made);
    return failed;
}

/* End the value that is open. */
static int end_value(Reader *reader, Py_ssize_t at)
{
    reader->state = PyList_GET_SIZE(reader->containers) ? NEXT : END;
    return emit(reader, DONE, Py_NewRef(Py_None), at);
}

/* Make the path that of a key or index inside another path; it takes over the reference to the step, and fails if that
 * is NULL. */
static int enter(Reader *reader, PyObject *around, PyObject *step)
{
    Py_ssize_t length = PyTuple_GET_SIZE(around);
    PyObject *path = step == NULL ? NULL : PyTuple_New(length + 1);
    if (path == NULL) {
        Py_XDECREF(step);
        return -1;
    }
    for (Py_ssize_t each = 0; each < length; each++)
        PyTuple_SET_ITEM(path, each, Py_NewRef(PyTuple_GET_ITEM(around, each)));
    PyTuple_SET_ITEM(path, length, step);
    Py_SETREF(reader->path, path);
    return 0;
}

/* Return the innermost container (borrowed): its bracket, what closes it, its path; NULL if there is none. */
static PyObject *innermost(const Reader *reader)
{
    Py_ssize_t depth = PyList_GET_SIZE(reader->containers);
    PyObject *top = depth ? PyList_GET_ITEM(reader->containers, depth - 1) : NULL;
    if (top == NULL || !PyTuple_Check(top) || PyTuple_GET_SIZE(top) != 3 || !PyTuple_Check(PyTuple_GET_ITEM(top, 2)))
        return NULL;
    for (int each = 0; each < 2; each++)
        if (!PyUnicode_Check(PyTuple_GET_ITEM(top, each)) || PyUnicode_GET_LENGTH(PyTuple_GET_ITEM(top, each)) != 1)
            return NULL;
    return top;
}

static Py_ssize_t close_container(Reader *reader, Py_ssize_t at)
{
    PyObject *top = innermost(reader);
    if (top == NULL) return LEAVE;
    Py_SETREF(reader->path, Py_NewRef(PyTuple_GET_ITEM(top, 2)));
    Py_ssize_t depth = PyList_GET_SIZE(reader->containers);
    if (PyList_SetSlice(reader->containers, depth - 1, depth, NULL) < 0) return FAILED;
    return end_value(reader, reader->base + at) < 0 ? FAILED : at + 1;
}

/* Read one of the limits; 0 if it is out of reach. */
static int read_limit(const Reader *reader, int name, Py_ssize_t *limit)
{
    PyObject *value = PyObject_GetAttr(SLOT(reader->machine, LIMITS), names[name]);
    int is_read = value != NULL && PyLong_Check(value) && as_offset(value, limit);
    Py_XDECREF(value);
    PyErr_Clear();
    return is_read;
}

static Py_ssize_t open_container(Reader *reader, Py_ssize_t at, int is_object)
{
    Py_ssize_t depth;
    if (!read_limit(reader, DEPTH, &depth) || PyList_GET_SIZE(reader->containers) >= depth) return LEAVE;
    PyObject *bracket = names[is_object ? BRACE : BRACKET];
    PyObject *container = PyTuple_Pack(3, bracket, names[is_object ? BRACE_END : BRACKET_END], reader->path);
    int failed = container == NULL || emit(reader, OPEN, Py_NewRef(bracket), reader->base + at) < 0
        || PyList_Append(reader->containers, container) < 0
        || (!is_object && enter(reader, reader->path, PyLong_FromLong(0)) < 0);
    Py_XDECREF(container);
    reader->state = is_object ? KEY : ITEM;
    return failed ? FAILED : at + 1;
}

/* Begin a word or a number with the character at a position; nothing is read yet. */
static Py_ssize_t open_scalar(Reader *reader, Py_ssize_t at, PyObject *word, int state)
{
    if (set_slot(reader->machine, START, PyLong_FromSsize_t(reader->base + at)) < 0
        || set_slot(reader->machine, WORD, Py_NewRef(word)) < 0
        || set_slot(reader->machine, NUMBER_STATE, Py_NewRef(names[NUMBER_START])) < 0)
        return FAILED;
    reader->state = state;
    return at;
}

static Py_ssize_t read_value(Reader *reader, Py_ssize_t at, Py_UCS4 c)
{
    switch (c) {
    case '"':
        reader->state = STRING;
        return emit(reader, OPEN, Py_NewRef(names[QUOTE]), reader->base + at) < 0 ? FAILED : at + 1;
    case '{': case '[':
        return open_container(reader, at, c == '{');
    case ']':
        return reader->state == ITEM ? close_container(reader, at) : LEAVE;
    case 't': case 'f': case 'n':
        return open_scalar(reader, at, names[c == 't' ? TRUE_WORD : c == 'f' ? FALSE_WORD : NULL_WORD], IN_WORD);
    default:
        return c == '-' || (c >= '0' && c <= '9') ? open_scalar(reader, at, names[EMPTY], NUMBER) : LEAVE;
    }
}

/* Read what comes after a value in a container: its closing, or a comma, with which the path goes on. */
static Py_ssize_t read_next(Reader *reader, Py_ssize_t at, Py_UCS4 c)
{
    PyObject *top = innermost(reader);
    if (top != NULL && c == PyUnicode_READ_CHAR(PyTuple_GET_ITEM(top, 1), 0)) return close_container(reader, at);
    if (top == NULL || c != ',') return LEAVE;
    if (PyUnicode_READ_CHAR(PyTuple_GET_ITEM(top, 0), 0) == '{') {
        reader->state = NEXT_KEY;
        return at + 1;
    }
    Py_ssize_t index, length = PyTuple_GET_SIZE(reader->path);
    PyObject *last = length ? PyTuple_GET_ITEM(reader->path, length - 1) : NULL;
    if (last == NULL || !PyLong_Check(last) || !as_offset(last, &index) || index == PY_SSIZE_T_MAX) return LEAVE;
    reader->state = NEXT_ITEM;
    return enter(reader, PyTuple_GET_ITEM(top, 2), PyLong_FromSsize_t(index + 1)) < 0 ? FAILED : at + 1;
}

static Py_ssize_t read_string(Reader *reader, Py_ssize_t at)
{
    Run run;
    if (!measure(&reader->chars, at, &run)) return LEAVE;
    if (run.length && emit(reader, TEXT, decode(reader->text, &reader->chars, &run), reader->base + at) < 0)
        return FAILED;
    if (run.stop == reader->chars.length) return run.stop;
    if (CHAR(&reader->chars, run.stop) == '"')
        return end_value(reader, reader->base + run.stop) < 0 ? FAILED : run.stop + 1;
    PyObject *held = PyUnicode_Substring(reader->text, run.stop, reader->chars.length);
    return set_slot(reader->machine, PENDING, held) < 0 ? FAILED : reader->chars.length;
}

/* Add a piece to those of a key or number; return them joined if it is the last, and else None; NULL for an error. */
static PyObject *add_piece(Reader *reader, Py_ssize_t begin, Py_ssize_t stop, int is_last)
{
    PyObject *pieces = SLOT(reader->machine, PIECES);
    PyObject *piece = PyUnicode_Substring(reader->text, begin, stop);
    if (piece == NULL || (is_last && PyList_GET_SIZE(pieces) == 0)) return piece;
    int failed = PyList_Append(pieces, piece);
    Py_DECREF(piece);
    if (failed) return NULL;
    if (!is_last) return Py_NewRef(Py_None);
    PyObject *whole = PyUnicode_Join(names[EMPTY], pieces);
    if (whole != NULL && set_slot(reader->machine, PIECES, PyList_New(0)) < 0) Py_CLEAR(whole);
    return whole;
}

static Py_ssize_t read_key_text(Reader *reader, Py_ssize_t at)
{
    Run run;
    Py_ssize_t start, longest;
    PyObject *top = innermost(reader);
    if (top == NULL || !measure(&reader->chars, at, &run) || run.has_escapes
        || !as_offset(SLOT(reader->machine, START), &start) || !as_offset(SLOT(reader->machine, LONGEST_KEY), &longest)
        || reader->base + run.stop - start > longest)
        return LEAVE;
    int is_last = run.stop < reader->chars.length;
    if (is_last && CHAR(&reader->chars, run.stop) != '"')
        return LEAVE;  /* an escape that is cut */
    PyObject *key = add_piece(reader, at, run.stop, is_last);
    if (!is_last) {
        Py_XDECREF(key);
        return key == NULL ? FAILED : run.stop;
    }
    reader->state = ASSIGN;
    return enter(reader, PyTuple_GET_ITEM(top, 2), key) < 0 ? FAILED : run.stop + 1;
}

static Py_ssize_t read_word(Reader *reader, Py_ssize_t at)
{
    Py_ssize_t start;
    int word = find_name(TRUE_WORD, NULL_WORD, SLOT(reader->machine, WORD));
    if (word < 0 || !as_offset(SLOT(reader->machine, START), &start)) return LEAVE;
    Py_ssize_t done = reader->base + at - start, length = (Py_ssize_t)strlen(spelled[word]);
    if (done < 0 || done >= length) return LEAVE;
    for (; at < reader->chars.length && done < length; at++, done++)
        if (CHAR(&reader->chars, at) != (Py_UCS4)spelled[word][done]) return LEAVE;
    if (done < length) return at;
    PyObject *value = word == TRUE_WORD ? Py_True : word == FALSE_WORD ? Py_False : Py_None;
    if (emit(reader, SCALAR, Py_NewRef(value), start) < 0 || end_value(reader, reader->base + at) < 0) return FAILED;
    return at;
}

/* Return the state of a number after one more character, -1 if that does not belong to it; see number_states.py. */
static int number_after(int state, Py_UCS4 c)
{
    int is_digit = c >= '0' && c <= '9';
    switch (state) {
    case NUMBER_START: if (c == '-') return SIGN;  /* fall through */
    case SIGN: return c == '0' ? ZERO : is_digit ? INTEGER : -1;
    case ZERO: return c == '.' ? POINT : c == 'e' || c == 'E' ? EXPONENT : -1;
    case INTEGER: return is_digit ? INTEGER : c == '.' ? POINT : c == 'e' || c == 'E' ? EXPONENT : -1;
    case POINT: return is_digit ? FRACTION : -1;
    case FRACTION: return is_digit ? FRACTION : c == 'e' || c == 'E' ? EXPONENT : -1;
    case EXPONENT: if (c == '+' || c == '-') return POWER_SIGN;  /* fall through */
    default: return is_digit ? POWER : -1;
    }
}

static int is_blank(Py_UCS4 c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static Py_ssize_t read_number(Reader *reader, Py_ssize_t at)
{
    Py_ssize_t start, longest, stop = at;
    int state = find_name(NUMBER_START, POWER, SLOT(reader->machine, NUMBER_STATE));
    if (state < 0 || !as_offset(SLOT(reader->machine, START), &start) || !read_limit(reader, NUMBER_LENGTH, &longest))
        return LEAVE;
    for (int next; stop < reader->chars.length && (next = number_after(state, CHAR(&reader->chars, stop))) >= 0; stop++)
        state = next;
    int is_float = state == FRACTION || state == POWER, is_last = stop < reader->chars.length;
    Py_ssize_t length = reader->base + stop - start;
    if (length > longest || (!is_float && length > SAFE_DIGITS)) return LEAVE;
    if (is_last) {
        Py_UCS4 c = CHAR(&reader->chars, stop);
        if ((!is_float && state != ZERO && state != INTEGER) || !(is_blank(c) || c == ',' || c == ']' || c == '}'))
            return LEAVE;
    }
    PyObject *raw = add_piece(reader, at, stop, is_last), *value = NULL;
    if (raw == NULL) return FAILED;
    if (!is_last) {
        Py_DECREF(raw);
        return set_slot(reader->machine, NUMBER_STATE, Py_NewRef(names[state])) < 0 ? FAILED : stop;
    }
    value = is_float ? PyFloat_FromString(raw) : PyLong_FromUnicodeObject(raw, 10);
    Py_DECREF(raw);
    if (emit(reader, SCALAR, value, start) < 0 || end_value(reader, reader->base + stop) < 0) return FAILED;
    return stop;
}

/* Read on at a position; return the one after what was read. */
static Py_ssize_t read_some(Reader *reader, Py_ssize_t at)
{
    switch (reader->state) {
    case STRING: return read_string(reader, at);
    case KEY_TEXT: return read_key_text(reader, at);
    case IN_WORD: return read_word(reader, at);
    case NUMBER: return read_number(reader, at);
    default: break;
    }
    Py_UCS4 c = CHAR(&reader->chars, at);
    if (is_blank(c)) return at + 1;
    switch (reader->state) {
    case NEXT: return read_next(reader, at, c);
    case END: return LEAVE;
    case ASSIGN:
        if (c != ':') return LEAVE;
        reader->state = VALUE;
        return at + 1;
    case KEY: case NEXT_KEY:
        if (c != '"') return c == '}' && reader->state == KEY ? close_container(reader, at) : LEAVE;
        reader->state = KEY_TEXT;
        return set_slot(reader->machine, START, PyLong_FromSsize_t(reader->base + at + 1)) < 0 ? FAILED : at + 1;
    default: return read_value(reader, at, c);
    }
}

/* Take the path, the containers and the state from the machine; 0 if they are not as it has them. */
static int take_state(Reader *reader)
{
    PyObject *machine = reader->machine;
    for (int slot = 0; slot < SLOTS; slot++)
        if (!has_type(SLOT(machine, slot), slots[slot].type)) return 0;
    Py_XSETREF(reader->path, Py_NewRef(SLOT(machine, PATH)));
    Py_XSETREF(reader->containers, Py_NewRef(SLOT(machine, CONTAINERS)));
    reader->state = find_name(BEGIN, END, SLOT(machine, STATE));
    return reader->state >= 0;
}

/* Let the Python step read on. */
static Py_ssize_t call_step(Reader *reader, Py_ssize_t at)
{
    PyObject *machine = reader->machine, *position = PyLong_FromSsize_t(at);
    if (position == NULL || set_slot(machine, BASE, PyLong_FromSsize_t(reader->base)) < 0
        || set_slot(machine, READ, PyLong_FromSsize_t(reader->end)) < 0
        || set_slot(machine, STATE, Py_NewRef(names[reader->state])) < 0
        || set_slot(machine, PATH, Py_NewRef(reader->path)) < 0
        || set_slot(machine, ROOT_CLOSED, Py_NewRef(reader->state == END ? Py_True : Py_False)) < 0) {
        Py_XDECREF(position);
        return FAILED;
    }
    PyObject *arguments[] = {machine, reader->text, position, reader->out};
    PyObject *step = PyDict_GetItemWithError(steps, names[reader->state]);
    PyObject *after = step == NULL ? NULL : PyObject_Vectorcall(step, arguments, 4, NULL);
    Py_DECREF(position);
    if (after == NULL) return FAILED;
    at = PyLong_AsSsize_t(after);
    Py_DECREF(after);
    if (at < 0 || !take_state(reader)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_RuntimeError, "a step left the machine in no state");
        return FAILED;
    }
    return at;
}

/* Read the whole text of a reader. */
static int read_all(Reader *reader)
{
    PyObject *machine = reader->machine;
    for (Py_ssize_t at = 0; at < reader->chars.length;) {
        Py_ssize_t after = read_some(reader, at);
        at = after == LEAVE ? call_step(reader, at) : after;
        if (at < 0) return -1;
    }
    if (set_slot(machine, STATE, Py_NewRef(names[reader->state])) < 0
        || set_slot(machine, PATH, Py_NewRef(reader->path)) < 0
        || set_slot(machine, TEXT_PATH, Py_NewRef(reader->state == STRING ? reader->path : Py_None)) < 0)
        return -1;
    if (reader->state == END && SLOT(machine, ERROR) == Py_None)
        return set_slot(machine, ROOT_CLOSED, Py_NewRef(Py_True));
    return 0;
}

/* Return a tuple of the TEXT of a run that is all of a text, or of what is certain of it; the rest is held. */
static PyObject *give_inside(PyObject *machine, PyObject *raw, const Chars *chars, const Run *run, Py_ssize_t end)
{
    PyObject *given = PyTuple_New(run->length > 0);
    if (given != NULL && run->length > 0) {
        PyObject *decoded = decode(raw, chars, run);
        PyObject *path = SLOT(machine, TEXT_PATH);
        PyObject *made = decoded == NULL ? NULL : fragment(path, TEXT, decoded, end - chars->length);
        Py_XDECREF(decoded);
        PyTuple_SET_ITEM(given, 0, made);
        if (made == NULL) Py_CLEAR(given);
    }
    int is_held = run->stop < chars->length;
    if (given == NULL || set_slot(machine, AT, PyLong_FromSsize_t(end)) < 0
        || ((is_held || PyUnicode_GET_LENGTH(SLOT(machine, PENDING)) > 0)
            && set_slot(machine, PENDING, PyUnicode_Substring(raw, run->stop, chars->length)) < 0))
        Py_CLEAR(given);
    return given;
}

static PyObject *feed(PyObject *machine, PyObject *text)
{
    Py_ssize_t at, longest;
    Run run;
    Reader reader = {.machine = machine};
    PyObject *raw = NULL, *pending = SLOT(machine, PENDING), *given = NULL;
    if (!PyUnicode_CheckExact(text) || !has_type(SLOT(machine, AT), 'i') || !has_type(SLOT(machine, LONGEST), 'i')
        || !has_type(pending, 's') || SLOT(machine, TEXT_PATH) == NULL)
        goto purely;
#if PY_VERSION_HEX < 0x030C0000
    if (PyUnicode_READY(text) < 0)  /* later ones always are */
        return NULL;
#endif
    if (!as_offset(SLOT(machine, AT), &at) || !as_offset(SLOT(machine, LONGEST), &longest)
        || PyUnicode_GET_LENGTH(text) == 0 || PyUnicode_GET_LENGTH(text) > longest - at)
        goto purely;
    reader.end = at + PyUnicode_GET_LENGTH(text);
    raw = PyUnicode_GET_LENGTH(pending) ? PyUnicode_Concat(pending, text) : Py_NewRef(text);
    if (raw == NULL) return NULL;
    reader.chars = (Chars){PyUnicode_KIND(raw), PyUnicode_DATA(raw), PyUnicode_GET_LENGTH(raw)};
    /* Inside a string most texts have nothing but its text. */
    if (SLOT(machine, TEXT_PATH) != Py_None && measure(&reader.chars, 0, &run)
        && (run.stop == reader.chars.length || CHAR(&reader.chars, run.stop) != '"')) {
        given = give_inside(machine, raw, &reader.chars, &run, reader.end);
        goto finally;
    }
    if (!take_state(&reader) || SLOT(machine, ERROR) != Py_None) goto purely;
    reader.base = reader.end - reader.chars.length;
    reader.text = raw;
    reader.out = given = PyList_New(0);
    if (given == NULL || set_slot(machine, AT, PyLong_FromSsize_t(reader.end)) < 0
        || (PyUnicode_GET_LENGTH(pending) && set_slot(machine, PENDING, Py_NewRef(names[EMPTY])) < 0)
        || (PyList_GET_SIZE(SLOT(machine, BARE)) && set_slot(machine, BARE, PyList_New(0)) < 0)
        || read_all(&reader) < 0)
        Py_CLEAR(given);
    goto finally;
purely:
    given = PyObject_CallFunctionObjArgs(pure_feed, machine, text, NULL);
finally:
    Py_XDECREF(raw);
    Py_XDECREF(reader.path);
    Py_XDECREF(reader.containers);
    return given;
}

/* ---- The module ---- */

/* Take the offset of a slot; 0 if the class has no such slot. */
static int take_offset(PyTypeObject *type, int slot)
{
    PyObject *descriptor = PyObject_GetAttrString((PyObject *)type, slots[slot].name);
    int is_slot = descriptor != NULL && Py_IS_TYPE(descriptor, &PyMemberDescr_Type)
        && PyType_IsSubtype(type, PyDescr_TYPE(descriptor));
    if (is_slot) {
        PyMemberDef *member = ((PyMemberDescrObject *)descriptor)->d_member;
        is_slot = member->type == T_OBJECT_EX;
        offsets[slot] = member->offset;
    }
    Py_XDECREF(descriptor);
    PyErr_Clear();
    return is_slot;
}

static PyMethodDef feed_method = {
    "feed", feed, METH_O, "feed($self, text, /)\n--\n\nReturn the fragments that this text makes certain."
};

static PyObject *install(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyTypeObject *type;
    PyObject *fragments;
    if (!PyArg_ParseTuple(arguments, "O!O!:install", &PyType_Type, &type, &PyType_Type, &fragments)) return NULL;
    if (pure_feed != NULL)  /* in this process, by another interpreter or before a reload */
        Py_RETURN_FALSE;
    for (int slot = 0; slot < SLOTS; slot++)
        if (!take_offset(type, slot))
            Py_RETURN_FALSE;
    PyObject *table = PyObject_GetAttrString((PyObject *)type, "STEPS");
    PyObject *feed_in_python = PyObject_GetAttrString((PyObject *)type, "feed");
    PyObject *descriptor = PyDescr_NewMethod(type, &feed_method);
    int is_whole = table != NULL && PyDict_Check(table) && feed_in_python != NULL && descriptor != NULL;
    for (int state = BEGIN; is_whole && state <= END; state++)
        is_whole = PyDict_Contains(table, names[state]) == 1;
    if (is_whole && PyObject_SetAttrString((PyObject *)type, "feed", descriptor) == 0) {
        fragment_type = Py_NewRef(fragments);
        steps = Py_NewRef(table);
        pure_feed = Py_NewRef(feed_in_python);
    }
    Py_XDECREF(descriptor);
    Py_XDECREF(feed_in_python);
    Py_XDECREF(table);
    if (PyErr_Occurred()) return NULL;
    return PyBool_FromLong(pure_feed != NULL);
}

static PyMethodDef functions[] = {
    {"install", install, METH_VARARGS,
     "install(machine, fragment, /)\n--\n\nPut `feed` in C on the class; False, with nothing done, if it does not fit."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_native", .m_doc = "The hot readers in C.", .m_size = -1, .m_methods = functions,
};

PyMODINIT_FUNC PyInit__native(void)
{
    for (int each = 0; each < NAMES; each++)
        if ((names[each] = PyUnicode_InternFromString(spelled[each])) == NULL) return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddIntConstant(module, "INTERFACE", INTERFACE) < 0) Py_CLEAR(module);
    return module;
}
