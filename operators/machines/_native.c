/* The hottest methods in C, on the slots of the Python classes:
 *
 *     JsonMachine.feed             JSON text, to fragments
 *     FragmentAggregator.feed_all  fragments, to a value
 *     CallLane.read                a chunk with more text of one call, to what the whole chain makes of it
 *     StageChain.feed              an item, if the call that it is of has a lane
 *
 * Each does what is plain, and leaves all else, with nothing done, to the method in Python that it replaces: its twin,
 * and in the tests its oracle. What is not plain in the middle of a text (an error, a limit, a character that is not
 * printable, half a surrogate pair) is for the Python step of the state, which is written back before. So errors,
 * limits, messages, `dump` and `load` are Python's alone. A twin also gets each object that is not as `__init__` makes
 * one, such as after a hostile `load`. Python has to keep in step with the names below; `install` takes the slots'
 * offsets from a class, and refuses one that lacks a slot.
 *
 * References: a function returns a new one unless it says "borrowed". What is in a slot is borrowed only as long as no
 * Python code runs; what outlives that is owned. Results of type int or Py_ssize_t are 0 or a position; FAILED, with an
 * exception set; or LEAVE.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#define INTERFACE 2  /* also in native_readers.py */
#define MANY 64      /* also in json_values.py: so many pieces of a text are joined at once */
#define LEAVE (-2)   /* nothing was done: Python has to */
#define FAILED (-1)  /* an exception is set */
#define READ_AHEAD (-3)  /* a lane has read the text, and found an error: what was read waits for the stages */
#define SAFE_DIGITS 600  /* `int` takes at least 640 digits, however it is configured */

/* ---- What the classes have ---- */

enum { FRAGMENT, LIMIT, MACHINE, GROWING_TEXT, AGGREGATOR, DELTA, CHUNK, CONTENT, LANE, ANSWERS, CHAIN, CLASSES };
static const char *const class_names[CLASSES] = {
    "Fragment", "Limits", "JsonMachine", "GrowingText", "FragmentAggregator", "ToolCallDelta", "ChunkResponse",
    "SegmentContent", "CallLane", "ResponseAnswers", "StageChain",
};

/* The slots of each class, and of what type is what is in them. */
enum {
    INT = Py_TPFLAGS_LONG_SUBCLASS, STR = Py_TPFLAGS_UNICODE_SUBCLASS, LIST = Py_TPFLAGS_LIST_SUBCLASS,
    TUPLE = Py_TPFLAGS_TUPLE_SUBCLASS, DICT = Py_TPFLAGS_DICT_SUBCLASS, ANY = -1
};
#define EACH_SLOT(OF) \
    OF(FRAGMENT, PIECE_PATH, "path", TUPLE) OF(FRAGMENT, PIECE_KIND, "kind", STR) \
    OF(FRAGMENT, PIECE_VALUE, "value", ANY) OF(LIMIT, DEPTH, "depth", INT) \
    OF(LIMIT, NUMBER_LENGTH, "number_length", INT) OF(MACHINE, AT, "at", INT) OF(MACHINE, LONGEST, "_longest", INT) \
    OF(MACHINE, PENDING, "pending", STR) OF(MACHINE, TEXT_PATH, "open_path", ANY) OF(MACHINE, BARE, "bare", LIST) \
    OF(MACHINE, BASE, "_base", INT) OF(MACHINE, CONTAINERS, "_containers", LIST) OF(MACHINE, ERROR, "error", ANY) \
    OF(MACHINE, LIMITS, "_limits", ANY) OF(MACHINE, LONGEST_KEY, "_longest_key", INT) \
    OF(MACHINE, NUMBER_STATE, "_number_state", STR) OF(MACHINE, PATH, "_path", TUPLE) \
    OF(MACHINE, PIECES, "_pieces", LIST) OF(MACHINE, READ, "read", INT) OF(MACHINE, ROOT_CLOSED, "root_closed", ANY) \
    OF(MACHINE, START, "_start", INT) OF(MACHINE, STATE, "_state", STR) OF(MACHINE, WORD, "_word", STR) \
    OF(GROWING_TEXT, BLOCKS, "blocks", LIST) OF(GROWING_TEXT, LAST_PIECES, "pieces", LIST) \
    OF(AGGREGATOR, HOLDERS, "_containers", LIST) OF(AGGREGATOR, IS_DONE, "done", ANY) \
    OF(AGGREGATOR, KEYS, "_keys", TUPLE) OF(AGGREGATOR, OPENED, "_open", STR) OF(AGGREGATOR, ROOT_PATH, "path", TUPLE) \
    OF(AGGREGATOR, STRING_PATH, "_text_path", TUPLE) OF(AGGREGATOR, STRING_TEXT, "text", ANY) \
    OF(DELTA, ARGUMENTS, "arguments_delta", STR) OF(DELTA, INDEX, "index", INT) OF(CHUNK, CALLS, "tool_calls", TUPLE) \
    OF(LANE, CALL, "_call", ANY) OF(LANE, CHECK, "_check", ANY) OF(LANE, FURTHER, "_further", TUPLE) \
    OF(LANE, IS_DECODED, "_is_decoded", ANY) OF(LANE, IS_HEARD, "_is_heard", ANY) OF(LANE, IS_WIDE, "_is_wide", ANY) \
    OF(LANE, LIKE, "_like", ANY) OF(LANE, LANE_MACHINE, "_machine", ANY) OF(LANE, RAW, "_raw", ANY) \
    OF(LANE, RAWS, "_raws", LIST | TUPLE) OF(LANE, SEGMENT_ID, "_segment_id", STR) \
    OF(LANE, SEGMENT_TYPE, "_segment_type", STR) OF(LANE, TEXTS, "_texts", LIST | TUPLE) \
    OF(LANE, TURN_ID, "_turn_id", ANY) OF(LANE, VALUE_KEPT, "_value", ANY) OF(ANSWERS, CALL_LANES, "_lanes", DICT) \
    OF(ANSWERS, NEXT_LANE, "lane", ANY) OF(CHAIN, IS_CLOSED, "_closed", ANY) OF(CHAIN, WAYS, "_lanes", ANY)

#define AS_NUMBER(class, slot, name, type) slot,
#define AS_ROW(class, slot, name, type) {class, name, type},
enum { EACH_SLOT(AS_NUMBER) SLOTS };
static const struct {
    int class;
    const char *name;
    int type;
} slots[SLOTS] = {EACH_SLOT(AS_ROW)};

static Py_ssize_t offsets[SLOTS];
#define SLOT_AT(object, offset) (*(PyObject **)((char *)(object) + (offset)))
#define SLOT(object, slot) SLOT_AT(object, offsets[slot])
#define PUT(object, slot, value) Py_XSETREF(SLOT(object, slot), Py_NewRef(value))

/* The strings that both sides use: the states of the machine and of a number, words, and others. */
enum {
    BEGIN, VALUE, ITEM, NEXT_ITEM, KEY, NEXT_KEY, KEY_TEXT, ASSIGN, STRING, IN_WORD, NUMBER, NEXT, END,
    NUMBER_START, SIGN, ZERO, INTEGER, POINT, FRACTION, EXPONENT, POWER_SIGN, POWER, TRUE_WORD, FALSE_WORD, NULL_WORD,
    OPEN, TEXT, SCALAR, DONE, EMPTY, IN_TEXT, IN_SCALAR, QUOTE, BRACE, BRACKET, BRACE_END, BRACKET_END, NAMES
};
static const char *const spelled[NAMES] = {
    "begin", "value", "item", "next_item", "key", "next_key", "key_text", "assign", "string", "word", "number", "next",
    "end", "start", "sign", "zero", "integer", "point", "fraction", "exponent", "power_sign", "power", "true", "false",
    "null", "OPEN", "TEXT", "SCALAR", "DONE", "", "text", "scalar", "\"", "{", "[", "}", "]",
};

/* All live as long as the process: the names from the import on, the others from `install` on. */
static PyObject *names[NAMES], *content_keywords, *steps, *twins[CLASSES];
static PyTypeObject *types[CLASSES];

/* Whether an object is of a class itself: one made from it may differ. NULL is not, and nothing is before `install`. */
static int is_a(PyObject *object, int class)
{
    return object != NULL && Py_IS_TYPE(object, types[class]);
}

/* Whether a value has a type; NULL, as in a slot that was never set, has none. */
static int has_type(PyObject *value, int type)
{
    return value != NULL && PyType_HasFeature(Py_TYPE(value), (unsigned long)type);
}

/* Whether the slots from the first to the last have what they should. */
static int is_whole(PyObject *object, int first, int last)
{
    for (int slot = first; slot <= last; slot++)
        if (!has_type(SLOT(object, slot), slots[slot].type)) return 0;
    return 1;
}

/* Whether an integer is an offset, which it sets; so offsets can be subtracted without an overflow. */
static int as_offset(PyObject *number, Py_ssize_t *offset)
{
    *offset = PyLong_AsSsize_t(number);
    if (*offset == -1 && PyErr_Occurred()) PyErr_Clear();
    return *offset >= 0;
}

/* Put what was made in a place, which takes over the reference; fails if it is NULL. */
static int own(PyObject **place, PyObject *made)
{
    if (made == NULL) return FAILED;
    Py_XSETREF(*place, made);
    return 0;
}

static PyObject *call_twin(int class, PyObject *self, PyObject *first, PyObject *second)
{
    PyObject *arguments[] = {self, first, second};
    return PyObject_Vectorcall(twins[class], arguments, second == NULL ? 2 : 3, NULL);
}

/* Return which of some names one is; -1 if none, as for one that `load` made: Python soon puts its own there. */
static int find_name(int first, int last, PyObject *name)
{
    for (int each = first; each <= last; each++)
        if (names[each] == name) return each;
    return -1;
}

/* ---- JSON text ---- */

#define CHAR PyUnicode_READ_CHAR
#define LENGTH PyUnicode_GET_LENGTH
enum { CUT = -1, WRONG = -2 };  /* The text ends within an escape; or it is an error, or half of a surrogate pair. */

static int hex_digit(Py_UCS4 c)
{
    return c >= '0' && c <= '9' ? (int)c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (int)(c | 32) - 'a' + 10 : -1;
}

/* Return what four hex digits say, CUT or WRONG. */
static int read_unit(PyObject *text, Py_ssize_t at)
{
    int unit = 0;
    for (Py_ssize_t end = at + 4; at < end; at++) {
        if (at >= LENGTH(text)) return CUT;
        int digit = hex_digit(CHAR(text, at));
        if (digit < 0) return WRONG;
        unit = unit << 4 | digit;
    }
    return unit;
}

/* Return how many characters an escape takes, or CUT, or WRONG; set the one that it stands for. */
static int read_escape(PyObject *text, Py_ssize_t at, Py_UCS4 *decoded)
{
    if (at + 1 >= LENGTH(text)) return CUT;
    Py_UCS4 c = CHAR(text, at + 1);
    for (int each = 0; each < 8; each++) {
        *decoded = (Py_UCS4)"\"\\/\b\f\n\r\t"[each];
        if (c == (Py_UCS4)"\"\\/bfnrt"[each]) return 2;
    }
    if (c != 'u') return WRONG;
    int high = read_unit(text, at + 2);
    *decoded = (Py_UCS4)high;
    if (high < 0xD800 || high > 0xDFFF) return high < 0 ? high : 6;
    /* Each character of the low half is looked at as it comes: what can be none is not waited for. */
    Py_ssize_t known = LENGTH(text) - at;
    if (high > 0xDBFF || (known > 6 && CHAR(text, at + 6) != '\\') || (known > 7 && CHAR(text, at + 7) != 'u')
        || (known > 8 && hex_digit(CHAR(text, at + 8)) != 0xD) || (known > 9 && hex_digit(CHAR(text, at + 9)) < 0xC))
        return WRONG;
    int low = read_unit(text, at + 8);
    *decoded = 0x10000 + ((Py_UCS4)(high - 0xD800) << 10) + (Py_UCS4)(low - 0xDC00);
    return low < 0 ? low : 12;
}

/* Text of a string up to where it stops: at its closing quote, at an escape that is cut, or at the end of the text. */
typedef struct {
    Py_ssize_t begin, stop, length;  /* its length is that of the decoded text */
    Py_UCS4 widest;
    int has_escapes;
} Run;

/* Measure the run from a position on; return 0 if something in it is not plain. */
static int measure(PyObject *text, Py_ssize_t at, Run *run)
{
    *run = (Run){.begin = at};
    while (at < LENGTH(text)) {
        Py_UCS4 c = CHAR(text, at);
        int taken = 1;
        if (c == '"') break;
        if (c == '\\') {
            taken = read_escape(text, at, &c);
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
static PyObject *decode(PyObject *text, const Run *run)
{
    if (!run->has_escapes) return PyUnicode_Substring(text, run->begin, run->stop);  /* the text itself, if it is all */
    PyObject *decoded = PyUnicode_New(run->length, run->widest);
    if (decoded == NULL) return NULL;
    Py_ssize_t at = run->begin;
    for (Py_ssize_t to = 0; to < run->length; to++) {
        Py_UCS4 c = CHAR(text, at);
        at += c == '\\' ? read_escape(text, at, &c) : 1;
        PyUnicode_WRITE(PyUnicode_KIND(decoded), PyUnicode_DATA(decoded), to, c);
    }
    return decoded;
}

/* Return a fragment; it takes over the reference to `value`, and fails if that is NULL. */
static PyObject *fragment(PyObject *path, int kind, PyObject *value, Py_ssize_t at)
{
    PyObject *offset = PyLong_FromSsize_t(at), *fields[] = {path, names[kind], value, offset};
    PyObject *made = value && offset ? PyObject_Vectorcall((PyObject *)types[FRAGMENT], fields, 4, NULL) : NULL;
    Py_XDECREF(offset);
    Py_XDECREF(value);
    return made;
}

typedef struct {
    PyObject *machine, *out;            /* borrowed */
    PyObject *text, *path, *containers;  /* owned */
    Py_ssize_t length, base, end;  /* the length of the text, the offsets of its first character and its end */
    int state;
} Reader;

/* Add a fragment; `value` as above. */
static int emit(Reader *reader, int kind, PyObject *value, Py_ssize_t at)
{
    PyObject *made = fragment(reader->path, kind, value, at);
    int done = made == NULL ? FAILED : PyList_Append(reader->out, made);
    Py_XDECREF(made);
    return done;
}

/* End the value that is open. */
static int end_value(Reader *reader, Py_ssize_t at)
{
    reader->state = PyList_GET_SIZE(reader->containers) ? NEXT : END;
    return emit(reader, DONE, Py_NewRef(Py_None), at);
}

/* Return a path with one step more; it takes over the reference to the step, and fails if that is NULL. */
static PyObject *further(PyObject *path, PyObject *step)
{
    Py_ssize_t length = PyTuple_GET_SIZE(path);
    PyObject *longer = step == NULL ? NULL : PyTuple_New(length + 1);
    if (longer == NULL) {
        Py_XDECREF(step);
        return NULL;
    }
    for (Py_ssize_t each = 0; each < length; each++)
        PyTuple_SET_ITEM(longer, each, Py_NewRef(PyTuple_GET_ITEM(path, each)));
    PyTuple_SET_ITEM(longer, length, step);
    return longer;
}

/* Return the innermost container (borrowed): its bracket, what closes it, its path; NULL if there is none. */
static PyObject *innermost(const Reader *reader)
{
    Py_ssize_t depth = PyList_GET_SIZE(reader->containers);
    PyObject *top = depth ? PyList_GET_ITEM(reader->containers, depth - 1) : NULL;
    return has_type(top, TUPLE) && PyTuple_GET_SIZE(top) == 3 && PyTuple_Check(PyTuple_GET_ITEM(top, 2)) ? top : NULL;
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
static int read_limit(const Reader *reader, int slot, Py_ssize_t *limit)
{
    PyObject *limits = SLOT(reader->machine, LIMITS);
    return is_a(limits, LIMIT) && PyLong_Check(SLOT(limits, slot)) && as_offset(SLOT(limits, slot), limit);
}

static Py_ssize_t open_container(Reader *reader, Py_ssize_t at, int is_object)
{
    Py_ssize_t depth;
    if (!read_limit(reader, DEPTH, &depth) || PyList_GET_SIZE(reader->containers) >= depth) return LEAVE;
    PyObject *bracket = names[is_object ? BRACE : BRACKET];
    PyObject *container = PyTuple_Pack(3, bracket, names[is_object ? BRACE_END : BRACKET_END], reader->path);
    int failed = container == NULL || emit(reader, OPEN, Py_NewRef(bracket), reader->base + at) < 0
        || PyList_Append(reader->containers, container) < 0
        || (!is_object && own(&reader->path, further(reader->path, PyLong_FromLong(0))) < 0);
    Py_XDECREF(container);
    reader->state = is_object ? KEY : ITEM;
    return failed ? FAILED : at + 1;
}

static Py_ssize_t read_value(Reader *reader, Py_ssize_t at, Py_UCS4 c)
{
    if (c == '"') {
        reader->state = STRING;
        return emit(reader, OPEN, Py_NewRef(names[QUOTE]), reader->base + at) < 0 ? FAILED : at + 1;
    }
    if (c == '{' || c == '[') return open_container(reader, at, c == '{');
    if (c == ']') return reader->state == ITEM ? close_container(reader, at) : LEAVE;
    /* A word or a number begins, of which nothing is read yet. */
    int word = c == 't' ? TRUE_WORD : c == 'f' ? FALSE_WORD : c == 'n' ? NULL_WORD : EMPTY;
    if (word == EMPTY && c != '-' && (c < '0' || c > '9')) return LEAVE;
    PUT(reader->machine, WORD, names[word]);
    PUT(reader->machine, NUMBER_STATE, names[NUMBER_START]);
    reader->state = word == EMPTY ? NUMBER : IN_WORD;
    return own(&SLOT(reader->machine, START), PyLong_FromSsize_t(reader->base + at)) < 0 ? FAILED : at;
}

/* Read what comes after a value in a container: its closing, or a comma, with which the path goes on. */
static Py_ssize_t read_next(Reader *reader, Py_ssize_t at, Py_UCS4 c)
{
    PyObject *top = innermost(reader), *bracket = top == NULL ? NULL : PyTuple_GET_ITEM(top, 0);
    if (c == '}' || c == ']') return bracket == names[c == '}' ? BRACE : BRACKET] ? close_container(reader, at) : LEAVE;
    if (c != ',') return LEAVE;
    if (bracket == names[BRACE]) {
        reader->state = NEXT_KEY;
        return at + 1;
    }
    if (bracket != names[BRACKET]) return LEAVE;
    Py_ssize_t index, length = PyTuple_GET_SIZE(reader->path);
    PyObject *last = length ? PyTuple_GET_ITEM(reader->path, length - 1) : NULL;
    if (last == NULL || !PyLong_Check(last) || !as_offset(last, &index) || index == PY_SSIZE_T_MAX) return LEAVE;
    reader->state = NEXT_ITEM;
    return own(&reader->path, further(PyTuple_GET_ITEM(top, 2), PyLong_FromSsize_t(index + 1))) < 0 ? FAILED : at + 1;
}

static Py_ssize_t read_string(Reader *reader, Py_ssize_t at)
{
    Run run;
    if (!measure(reader->text, at, &run)) return LEAVE;
    if (run.length && emit(reader, TEXT, decode(reader->text, &run), reader->base + at) < 0)
        return FAILED;
    if (run.stop == reader->length) return run.stop;
    if (CHAR(reader->text, run.stop) == '"')
        return end_value(reader, reader->base + run.stop) < 0 ? FAILED : run.stop + 1;
    PyObject *held = PyUnicode_Substring(reader->text, run.stop, reader->length);
    return own(&SLOT(reader->machine, PENDING), held) < 0 ? FAILED : reader->length;
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
    if (whole != NULL && own(&SLOT(reader->machine, PIECES), PyList_New(0)) < 0) Py_CLEAR(whole);
    return whole;
}

static Py_ssize_t read_key_text(Reader *reader, Py_ssize_t at)
{
    Run run;
    Py_ssize_t start, longest;
    PyObject *top = innermost(reader);
    if (top == NULL || !measure(reader->text, at, &run) || run.has_escapes
        || !as_offset(SLOT(reader->machine, START), &start) || !as_offset(SLOT(reader->machine, LONGEST_KEY), &longest)
        || reader->base + run.stop - start > longest)
        return LEAVE;
    int is_last = run.stop < reader->length;
    if (is_last && CHAR(reader->text, run.stop) != '"') return LEAVE;  /* an escape that is cut */
    PyObject *key = add_piece(reader, at, run.stop, is_last);
    if (!is_last) {
        Py_XDECREF(key);
        return key == NULL ? FAILED : run.stop;
    }
    reader->state = ASSIGN;
    return own(&reader->path, further(PyTuple_GET_ITEM(top, 2), key)) < 0 ? FAILED : run.stop + 1;
}

static Py_ssize_t read_word(Reader *reader, Py_ssize_t at)
{
    Py_ssize_t start;
    int word = find_name(TRUE_WORD, NULL_WORD, SLOT(reader->machine, WORD));
    if (word < 0 || !as_offset(SLOT(reader->machine, START), &start)) return LEAVE;
    Py_ssize_t done = reader->base + at - start, length = (Py_ssize_t)strlen(spelled[word]);
    if (done < 0 || done >= length) return LEAVE;
    for (; at < reader->length && done < length; at++, done++)
        if (CHAR(reader->text, at) != (Py_UCS4)spelled[word][done]) return LEAVE;
    if (done < length) return at;
    PyObject *value = word == TRUE_WORD ? Py_True : word == FALSE_WORD ? Py_False : Py_None;
    if (emit(reader, SCALAR, Py_NewRef(value), start) < 0 || end_value(reader, reader->base + at) < 0) return FAILED;
    return at;
}

/* Return the state of a number after one more character, -1 if that does not belong to it; see number_states.py. */
static int number_after(int state, Py_UCS4 c)
{
    int is_digit = c >= '0' && c <= '9', is_e = c == 'e' || c == 'E';
    switch (state) {
    case NUMBER_START: if (c == '-') return SIGN;  /* fall through */
    case SIGN: return c == '0' ? ZERO : is_digit ? INTEGER : -1;
    case ZERO: is_digit = 0;  /* fall through */
    case INTEGER: return is_digit ? INTEGER : c == '.' ? POINT : is_e ? EXPONENT : -1;
    case POINT: case FRACTION: return is_digit ? FRACTION : is_e && state == FRACTION ? EXPONENT : -1;
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
    for (int next; stop < reader->length && (next = number_after(state, CHAR(reader->text, stop))) >= 0; stop++)
        state = next;
    int is_float = state == FRACTION || state == POWER, is_last = stop < reader->length;
    Py_ssize_t length = reader->base + stop - start;
    Py_UCS4 c = is_last ? CHAR(reader->text, stop) : ',';
    if (length > longest || (!is_float && length > SAFE_DIGITS) || !(is_blank(c) || c == ',' || c == ']' || c == '}')
        || (is_last && !is_float && state != ZERO && state != INTEGER))
        return LEAVE;
    PyObject *raw = add_piece(reader, at, stop, is_last), *value = NULL;
    if (raw == NULL) return FAILED;
    if (!is_last) {
        Py_DECREF(raw);
        PUT(reader->machine, NUMBER_STATE, names[state]);
        return stop;
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
    Py_UCS4 c = CHAR(reader->text, at);
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
        return own(&SLOT(reader->machine, START), PyLong_FromSsize_t(reader->base + at + 1)) < 0 ? FAILED : at + 1;
    default: return read_value(reader, at, c);
    }
}

/* Take the path, the containers and the state from the machine; 0 if they are not as it has them. */
static int take_state(Reader *reader)
{
    PyObject *machine = reader->machine;
    if (!is_whole(machine, AT, WORD)) return 0;
    Py_XSETREF(reader->path, Py_NewRef(SLOT(machine, PATH)));
    Py_XSETREF(reader->containers, Py_NewRef(SLOT(machine, CONTAINERS)));
    reader->state = find_name(BEGIN, END, SLOT(machine, STATE));
    return reader->state >= 0;
}

static void put_state(const Reader *reader)
{
    PUT(reader->machine, STATE, names[reader->state]);
    PUT(reader->machine, PATH, reader->path);
}

/* Let the Python step read on. */
static Py_ssize_t call_step(Reader *reader, Py_ssize_t at)
{
    PyObject *machine = reader->machine;
    put_state(reader);
    PUT(machine, ROOT_CLOSED, reader->state == END ? Py_True : Py_False);
    if (own(&SLOT(machine, BASE), PyLong_FromSsize_t(reader->base)) < 0
        || own(&SLOT(machine, READ), PyLong_FromSsize_t(reader->end)) < 0)
        return FAILED;
    PyObject *after = PyObject_CallFunction(PyDict_GetItemWithError(steps, names[reader->state]), "OOnO", machine,
                                            reader->text, at, reader->out);
    if (after == NULL) return FAILED;
    at = PyLong_AsSsize_t(after);
    Py_DECREF(after);
    if (at >= 0 && take_state(reader)) return at;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "a step left the machine in no state");
    return FAILED;
}

/* Read the whole text of a reader. */
static int read_all(Reader *reader)
{
    for (Py_ssize_t at = 0, after; at < reader->length; at = after) {
        after = read_some(reader, at);
        if (after == LEAVE) after = call_step(reader, at);
        if (after < 0) return FAILED;
    }
    put_state(reader);
    PUT(reader->machine, TEXT_PATH, reader->state == STRING ? reader->path : Py_None);
    if (reader->state == END && SLOT(reader->machine, ERROR) == Py_None) PUT(reader->machine, ROOT_CLOSED, Py_True);
    return 0;
}

/* Return a tuple of the TEXT of a run that is all of a text, or of what is certain of it; the rest is held. */
static PyObject *give_inside(const Reader *reader, const Run *run)
{
    PyObject *machine = reader->machine, *given = PyTuple_New(run->length > 0);
    if (given != NULL && run->length > 0) {
        PyObject *made = fragment(SLOT(machine, TEXT_PATH), TEXT, decode(reader->text, run), reader->base);
        PyTuple_SET_ITEM(given, 0, made);
        if (made == NULL) Py_CLEAR(given);
    }
    if (given == NULL || own(&SLOT(machine, AT), PyLong_FromSsize_t(reader->end)) < 0
        || own(&SLOT(machine, PENDING), PyUnicode_Substring(reader->text, run->stop, reader->length)) < 0)
        Py_CLEAR(given);
    return given;
}

/* Feed a machine. With `is_inside` only a text that lies in the open string, and gives some of it, is read; for others
 * NULL is returned with no exception set. */
static PyObject *read_text(PyObject *machine, PyObject *text, int is_inside)
{
    Py_ssize_t at, longest;
    Run run;
    Reader reader = {.machine = machine};
    PyObject *given = NULL;
    /* A string that is not ready, as 3.11 may have some, has no length. */
    if (!PyUnicode_CheckExact(text) || !LENGTH(text) || !is_whole(machine, AT, TEXT_PATH)
        || !as_offset(SLOT(machine, AT), &at) || !as_offset(SLOT(machine, LONGEST), &longest)
        || LENGTH(text) > longest - at)
        return is_inside ? NULL : call_twin(MACHINE, machine, text, NULL);
    reader.text = LENGTH(SLOT(machine, PENDING)) ? PyUnicode_Concat(SLOT(machine, PENDING), text) : Py_NewRef(text);
    if (reader.text == NULL) return NULL;
    reader.end = at + LENGTH(text);
    reader.length = LENGTH(reader.text);
    reader.base = reader.end - reader.length;
    /* Inside a string most texts have nothing but its text. */
    if (SLOT(machine, TEXT_PATH) != Py_None && measure(reader.text, 0, &run) && (run.length || !is_inside)
        && (run.stop == reader.length || CHAR(reader.text, run.stop) != '"'))
        given = give_inside(&reader, &run);
    else if (!is_inside && take_state(&reader) && SLOT(machine, ERROR) == Py_None) {
        reader.out = given = PyList_New(0);
        PUT(machine, PENDING, names[EMPTY]);
        if (given == NULL || own(&SLOT(machine, AT), PyLong_FromSsize_t(reader.end)) < 0
            || (PyList_GET_SIZE(SLOT(machine, BARE)) && own(&SLOT(machine, BARE), PyList_New(0)) < 0)
            || read_all(&reader) < 0)
            Py_CLEAR(given);
    }
    else if (!is_inside) given = call_twin(MACHINE, machine, text, NULL);
    Py_DECREF(reader.text);
    Py_XDECREF(reader.path);
    Py_XDECREF(reader.containers);
    return given;
}

static PyObject *feed(PyObject *machine, PyObject *text)
{
    return read_text(machine, text, 0);
}

/* ---- The value that fragments make ---- */

/* Put an item into the innermost container, of which there is one: a new entry, or in place of one. */
static int put(PyObject *value, PyObject *path, PyObject *item)
{
    PyObject *holders = SLOT(value, HOLDERS), *holder = PyList_GET_ITEM(holders, PyList_GET_SIZE(holders) - 1);
    Py_ssize_t index, length = PyTuple_GET_SIZE(path);
    if (length <= PyTuple_GET_SIZE(SLOT(value, ROOT_PATH))) return LEAVE;  /* another root */
    PyObject *place = PyTuple_GET_ITEM(path, length - 1);
    if (PyDict_CheckExact(holder) && PyUnicode_CheckExact(place)) return PyDict_SetItem(holder, place, item);
    if (!PyList_CheckExact(holder) || !PyLong_CheckExact(place) || !as_offset(place, &index)) return LEAVE;
    return index < PyList_GET_SIZE(holder) ? PyList_SetItem(holder, index, Py_NewRef(item))
        : PyList_Append(holder, item);
}

/* Add a fragment inside of the root. */
static int add_fragment(PyObject *value, PyObject *piece)
{
    PyObject *text = SLOT(value, STRING_TEXT);
    if (!is_a(piece, FRAGMENT) || !is_whole(piece, PIECE_PATH, PIECE_VALUE) || !is_whole(value, HOLDERS, STRING_TEXT)
        || !is_a(text, GROWING_TEXT) || !is_whole(text, BLOCKS, LAST_PIECES))
        return LEAVE;
    PyObject *path = SLOT(piece, PIECE_PATH), *item = SLOT(piece, PIECE_VALUE), *pieces = SLOT(text, LAST_PIECES);
    PyObject *holders = SLOT(value, HOLDERS), *keys = SLOT(value, KEYS), *made = NULL;
    Py_ssize_t depth = PyList_GET_SIZE(holders), length = PyTuple_GET_SIZE(path);
    int sign, opened = find_name(EMPTY, IN_SCALAR, SLOT(value, OPENED)), done = 0;
    if (depth == 0 || opened < 0 || PyList_GET_SIZE(SLOT(text, BLOCKS))) return LEAVE;
    switch (find_name(OPEN, DONE, SLOT(piece, PIECE_KIND))) {
    case TEXT: return PyList_GET_SIZE(pieces) < MANY - 1 ? PyList_Append(pieces, item) : LEAVE;
    case SCALAR:
        done = put(value, path, item);
        opened = IN_SCALAR;
        break;
    case OPEN:
        sign = PyUnicode_Check(item) ? find_name(QUOTE, BRACKET, item) : -1;
        if (sign < 0 || length <= PyTuple_GET_SIZE(SLOT(value, ROOT_PATH)) || PyList_GET_SIZE(pieces)) return LEAVE;
        opened = sign == QUOTE ? IN_TEXT : EMPTY;
        if (sign == QUOTE) {
            PUT(value, STRING_PATH, path);
            break;
        }
        made = sign == BRACE ? PyDict_New() : PyList_New(0);
        done = made == NULL ? FAILED : put(value, path, made);
        if (done == 0) done = PyList_Append(holders, made);
        if (done == 0) done = own(&SLOT(value, KEYS), further(keys, Py_NewRef(PyTuple_GET_ITEM(path, length - 1))));
        break;
    case DONE:
        if (opened == IN_TEXT) {
            made = PyUnicode_Join(names[EMPTY], pieces);
            done = made == NULL ? FAILED : put(value, path, made);
            if (done == 0) done = PyList_SetSlice(pieces, 0, PyList_GET_SIZE(pieces), NULL);
        }
        else if (opened == EMPTY) {
            done = PyList_SetSlice(holders, depth - 1, depth, NULL);
            if (done == 0) done = own(&SLOT(value, KEYS), PyTuple_GetSlice(keys, 0, PyTuple_GET_SIZE(keys) - 1));
            if (depth == 1) PUT(value, IS_DONE, Py_True);
        }
        opened = EMPTY;
        break;
    default: return LEAVE;
    }
    Py_XDECREF(made);
    if (done == 0) PUT(value, OPENED, names[opened]);
    return done;
}

static PyObject *feed_all(PyObject *value, PyObject *fragments)
{
    if (!PyList_CheckExact(fragments) && !PyTuple_CheckExact(fragments))
        return call_twin(AGGREGATOR, value, fragments, NULL);
    for (Py_ssize_t each = 0; each < PySequence_Fast_GET_SIZE(fragments); each++) {
        PyObject *alone, *none, *piece = Py_NewRef(PySequence_Fast_GET_ITEM(fragments, each));
        int done = add_fragment(value, piece);
        if (done == LEAVE && (alone = PyTuple_Pack(1, piece)) != NULL) {
            none = call_twin(AGGREGATOR, value, alone, NULL);
            done = none == NULL ? FAILED : 0;
            Py_DECREF(alone);
            Py_XDECREF(none);
        }
        Py_DECREF(piece);
        if (done < 0) return NULL;
    }
    Py_RETURN_NONE;
}

/* ---- The lane of a call, and the chain ---- */

/* Whether two events of a class are equal, whatever is in one slot. An event has nothing but slots; what is neither the
 * same nor a string is left to Python. */
static int are_alike(PyObject *one, PyObject *other, int class, int whatever)
{
    for (Py_ssize_t at = sizeof(PyObject); at < types[class]->tp_basicsize; at += sizeof(PyObject *)) {
        PyObject *here = SLOT_AT(one, at), *there = SLOT_AT(other, at);
        if (here != there && at != offsets[whatever]
            && (!has_type(here, STR) || !has_type(there, STR) || PyUnicode_Compare(here, there) != 0))
            return 0;
    }
    return 1;
}

/* Return the delta of a chunk that has one, borrowed; else NULL. */
static PyObject *only_delta(PyObject *chunk)
{
    PyObject *deltas = is_a(chunk, CHUNK) ? SLOT(chunk, CALLS) : NULL;
    PyObject *delta = has_type(deltas, TUPLE) && PyTuple_GET_SIZE(deltas) == 1 ? PyTuple_GET_ITEM(deltas, 0) : NULL;
    return is_a(delta, DELTA) ? delta : NULL;
}

/* Return the list of events for a text: one, or none if nobody hears it. */
static PyObject *content(PyObject *lane, PyObject *text, PyObject *decoded, PyObject *items)
{
    int is_heard = SLOT(lane, IS_HEARD) == Py_True;
    PyObject *events = PyList_New(is_heard);
    if (events == NULL || !is_heard) return events;
    PyObject *said = decoded != NULL && SLOT(lane, IS_DECODED) == Py_True ? decoded : text;
    PyObject *pieces = PyList_CheckExact(items) ? PyList_AsTuple(items) : Py_NewRef(items);
    PyObject *fields[] = {SLOT(lane, SEGMENT_ID), SLOT(lane, SEGMENT_TYPE), said, SLOT(lane, TURN_ID), text, pieces};
    PyObject *event = pieces ? PyObject_Vectorcall((PyObject *)types[CONTENT], fields, 3, content_keywords) : NULL;
    Py_XDECREF(pieces);
    PyList_SET_ITEM(events, 0, event);
    if (event == NULL) Py_CLEAR(events);
    return events;
}

static int join(PyObject *text)
{
    PyObject *none = PyObject_CallMethod(text, "join", NULL);
    Py_XDECREF(none);
    return none == NULL ? FAILED : 0;
}

/* Keep a text, and what it says, for the end of the call. */
static int keep(PyObject *lane, PyObject *text, PyObject *decoded, PyObject *items)
{
    if (SLOT(lane, RAW) == Py_None) return 0;
    PyObject *value = Py_NewRef(SLOT(lane, VALUE_KEPT)), *none = NULL;
    int done = PyList_Append(SLOT(lane, RAWS), text);
    if (done == 0 && decoded != NULL) done = PyList_Append(SLOT(lane, TEXTS), decoded);
    if (done == 0 && PyList_GET_SIZE(SLOT(lane, RAWS)) >= MANY)
        done = join(SLOT(lane, RAW)) < 0 || (decoded != NULL && join(SLOT(value, STRING_TEXT)) < 0) ? FAILED : 0;
    if (done == 0 && decoded == NULL && (none = feed_all(value, items)) == NULL) done = FAILED;
    Py_XDECREF(none);
    Py_DECREF(value);
    return done;
}

/* Read a chunk that has nothing but more text for a lane, and set the events that come of it. */
static int read_chunk(PyObject *lane, PyObject *chunk, PyObject **events)
{
    PyObject *delta = only_delta(chunk), *like, *like_delta, *text, *machine;
    if (delta == NULL || !is_whole(lane, CALL, VALUE_KEPT) || (like_delta = only_delta(like = SLOT(lane, LIKE))) == NULL
        || !are_alike(chunk, like, CHUNK, CALLS) || !are_alike(delta, like_delta, DELTA, ARGUMENTS)
        || !PyUnicode_CheckExact(text = SLOT(delta, ARGUMENTS)) || !LENGTH(text)
        || !is_a(machine = SLOT(lane, LANE_MACHINE), MACHINE)
        || SLOT(lane, CHECK) != Py_None || PyTuple_GET_SIZE(SLOT(lane, FURTHER)))
        return LEAVE;
    if (SLOT(lane, RAW) != Py_None
        && (!PyList_Check(SLOT(lane, RAWS)) || !PyList_Check(SLOT(lane, TEXTS))
            || !is_a(SLOT(lane, VALUE_KEPT), AGGREGATOR) || SLOT(SLOT(lane, VALUE_KEPT), STRING_TEXT) == NULL))
        return LEAVE;
    Py_INCREF(text);
    Py_INCREF(machine);
    PyObject *items = read_text(machine, text, SLOT(lane, IS_WIDE) != Py_True);
    int done = items != NULL ? 0 : PyErr_Occurred() ? FAILED : LEAVE;
    if (done == 0 && SLOT(machine, ERROR) != Py_None)
        done = PyObject_SetAttrString(SLOT(lane, CALL), "read_ahead", items) < 0 ? FAILED : READ_AHEAD;
    else if (done == 0) {
        /* Text that lies in the open string is a tuple with one TEXT. */
        int is_inside = PyTuple_CheckExact(items) && PyTuple_GET_SIZE(items) == 1;
        PyObject *decoded = is_inside ? SLOT(PyTuple_GET_ITEM(items, 0), PIECE_VALUE) : NULL;
        *events = content(lane, text, decoded, items);
        if (*events == NULL || keep(lane, text, decoded, items) < 0) done = FAILED;
    }
    if (done == FAILED) Py_CLEAR(*events);
    Py_XDECREF(items);
    Py_DECREF(machine);
    Py_DECREF(text);
    return done;
}

static PyObject *read_lane(PyObject *lane, PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *events = NULL;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "read() takes 2 arguments, got %zd", count);
    switch (read_chunk(lane, arguments[1], &events)) {
    case LEAVE: return call_twin(LANE, lane, arguments[0], arguments[1]);
    case READ_AHEAD: Py_RETURN_NONE;
    default: return events;
    }
}

/* Return the lane of the call that a chunk is of; NULL if it has none. */
static PyObject *find_lane(PyObject *answers, PyObject *chunk)
{
    PyObject *delta = only_delta(chunk), *read;
    if (delta == NULL || !PyLong_CheckExact(SLOT(delta, INDEX)) || !is_a(answers, ANSWERS)
        || !is_whole(answers, CALL_LANES, NEXT_LANE) || SLOT(answers, NEXT_LANE) == Py_None)
        return NULL;
    read = PyDict_GetItemWithError(SLOT(answers, CALL_LANES), SLOT(delta, INDEX));
    if (read == NULL || !PyCFunction_CheckExact(read) || !is_a(PyCFunction_GET_SELF(read), LANE)) return NULL;
    return Py_NewRef(PyCFunction_GET_SELF(read));
}

/* Close the stages as failed, and return NULL with the exception that is set. */
static PyObject *close_failed(PyObject *chain)
{
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    PyObject *none = PyObject_CallMethod(chain, "_fail", "Oi()()", error, 1);
    if (none != NULL) PyErr_Restore(Py_XNewRef(type), Py_XNewRef(error), Py_XNewRef(trace));
    Py_XDECREF(none);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(trace);
    return NULL;
}

static PyObject *feed_chain(PyObject *chain, PyObject *item)
{
    PyObject *answers = SLOT(chain, WAYS), *events = NULL;
    PyObject *lane = SLOT(chain, IS_CLOSED) == Py_False ? find_lane(answers, item) : NULL;
    if (lane != NULL) {
        int done = read_chunk(lane, item, &events);
        Py_DECREF(lane);
        if (done == 0) return events;
        if (done == FAILED) return close_failed(chain);
        if (done == READ_AHEAD) {  /* as `ResponseAnswers.feed` does first of all: the item is not for a lane */
            PUT(answers, NEXT_LANE, Py_None);
            PyDict_Clear(SLOT(answers, CALL_LANES));
        }
    }
    return call_twin(CHAIN, chain, item, NULL);
}

/* ---- The module ---- */

/* Take the offset of a slot; 0 if the class has no such slot. */
static int take_offset(PyTypeObject *type, int slot)
{
    PyObject *descriptor = PyObject_GetAttrString((PyObject *)type, slots[slot].name);
    PyMemberDef *member = descriptor != NULL && Py_IS_TYPE(descriptor, &PyMemberDescr_Type)
        && PyType_IsSubtype(type, PyDescr_TYPE(descriptor)) ? ((PyMemberDescrObject *)descriptor)->d_member : NULL;
    int is_slot = member != NULL && member->type == T_OBJECT_EX;
    if (is_slot) offsets[slot] = member->offset;
    Py_XDECREF(descriptor);
    PyErr_Clear();
    return is_slot;
}

/* What takes the place of a method: of which class, and how. */
static PyMethodDef methods[CLASSES] = {
    [MACHINE] = {"feed", feed, METH_O, "Return the fragments that this text makes certain."},
    [AGGREGATOR] = {"feed_all", feed_all, METH_O, "Add fragments."},
    [LANE] = {"read", (PyCFunction)(void (*)(void))read_lane, METH_FASTCALL, "Return the events of a chunk."},
    [CHAIN] = {"feed", feed_chain, METH_O, "Return what this item makes certain."},
};

static PyObject *install(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyTypeObject *type;
    PyObject *twin;
    int class = 0;
    if (!PyArg_ParseTuple(arguments, "O!O:install", &PyType_Type, &type, &twin)) return NULL;
    while (class < CLASSES && strcmp(class_names[class], type->tp_name) != 0) class++;
    if (class == CLASSES || types[class] != NULL)  /* in this process, by another interpreter or before a reload */
        Py_RETURN_NONE;
    for (int slot = 0; slot < SLOTS; slot++)
        if (slots[slot].class == class && !take_offset(type, slot))
            Py_RETURN_NONE;
    if (class == MACHINE && (steps = PyObject_GetAttrString((PyObject *)type, "STEPS")) == NULL) return NULL;
    types[class] = (PyTypeObject *)Py_NewRef(type);
    twins[class] = Py_NewRef(twin);
    return methods[class].ml_name == NULL ? Py_NewRef(Py_True) : PyDescr_NewMethod(type, &methods[class]);
}

static PyMethodDef functions[] = {
    {"install", install, METH_VARARGS,
     "install(class, twin, /)\n--\n\nReturn the method in C of a class, True for none; None if it does not fit."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_native", .m_doc = "The hot readers in C.", .m_size = -1, .m_methods = functions,
};

PyMODINIT_FUNC PyInit__native(void)
{
    for (int each = 0; each < NAMES; each++)
        if ((names[each] = PyUnicode_InternFromString(spelled[each])) == NULL) return NULL;
    content_keywords = Py_BuildValue("NNN", PyUnicode_InternFromString("turn_id"), PyUnicode_InternFromString("raw"),
                                     PyUnicode_InternFromString("fragments"));
    PyObject *module = content_keywords == NULL ? NULL : PyModule_Create(&definition);
    if (module != NULL && PyModule_AddIntConstant(module, "INTERFACE", INTERFACE) < 0) Py_CLEAR(module);
    return module;
}
