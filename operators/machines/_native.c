/* The hottest methods in C, on the slots of the Python classes:
 *
 *     JsonMachine.feed             JSON text, to fragments
 *     FragmentAggregator.feed_all  fragments, to a value
 *     CallLane.read                a chunk with more text of one call, to what the whole chain makes of it
 *     StageChain.feed              an item, if the call that it is of has a lane
 *
 * Each does what is plain. All else it leaves, with nothing done, to the method in Python that it replaces: its twin,
 * which is its oracle in the tests, too. JSON that is not plain (an error, a limit, a character that is not printable,
 * half a surrogate pair) may come in the middle of a text: the state is written back, and the Python step for it goes
 * on from there. So errors, limits, messages, `dump` and `load` are Python's alone, and a new rule for them needs no
 * line here. A twin also gets every object that is not as `__init__` makes one, such as after a hostile `load`.
 *
 * What Python has to keep in step with: the classes and slots that are named below, the names of the states, MANY, and
 * INTERFACE. `install` takes the slots' offsets from a class, and refuses one that lacks a slot.
 *
 * References: a function returns a new one unless it says "borrowed". A value in a slot is borrowed only as long as no
 * Python code runs; what outlives that is owned. Functions that return int or Py_ssize_t return FAILED with an
 * exception set; 0 or a position for done; and LEAVE.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#define INTERFACE 2  /* also in native_readers.py */
#define MANY 64      /* also in json_values.py: so many pieces of a text are joined at once */
#define LEAVE (-2)   /* nothing was done: Python has to */
#define FAILED (-1)  /* an exception is set */
#define SAFE_DIGITS 600  /* `int` takes at least 640 digits, however it is configured */

/* ---- What the classes have ---- */

enum {
    FRAGMENT, LIMIT, MACHINE, GROWING_TEXT, AGGREGATOR, DELTA, CHUNK, CONTENT, LANE, ANSWERS, CHAIN, CLASSES
};
static const char *const class_names[CLASSES] = {
    "Fragment", "Limits", "JsonMachine", "GrowingText", "FragmentAggregator", "ToolCallDelta", "ChunkResponse",
    "SegmentContent", "CallLane", "ResponseAnswers", "StageChain",
};

/* The slots of each class, and of what type is what is in them. */
#define INT Py_TPFLAGS_LONG_SUBCLASS
#define STR Py_TPFLAGS_UNICODE_SUBCLASS
#define LIST Py_TPFLAGS_LIST_SUBCLASS
#define TUPLE Py_TPFLAGS_TUPLE_SUBCLASS
#define DICT Py_TPFLAGS_DICT_SUBCLASS
#define ANY (~0UL)
#define EACH_SLOT(OF) \
    OF(FRAGMENT, PIECE_PATH, "path", TUPLE) OF(FRAGMENT, PIECE_KIND, "kind", STR) OF(FRAGMENT, PIECE_VALUE, "value", ANY) \
    OF(LIMIT, DEPTH, "depth", INT) OF(LIMIT, NUMBER_LENGTH, "number_length", INT) \
    OF(MACHINE, AT, "at", INT) OF(MACHINE, BARE, "bare", LIST) OF(MACHINE, BASE, "_base", INT) \
    OF(MACHINE, CONTAINERS, "_containers", LIST) OF(MACHINE, ERROR, "error", ANY) OF(MACHINE, LIMITS, "_limits", ANY) \
    OF(MACHINE, LONGEST, "_longest", INT) OF(MACHINE, LONGEST_KEY, "_longest_key", INT) \
    OF(MACHINE, NUMBER_STATE, "_number_state", STR) OF(MACHINE, PATH, "_path", TUPLE) \
    OF(MACHINE, PENDING, "pending", STR) OF(MACHINE, PIECES, "_pieces", LIST) OF(MACHINE, READ, "read", INT) \
    OF(MACHINE, ROOT_CLOSED, "root_closed", ANY) OF(MACHINE, START, "_start", INT) OF(MACHINE, STATE, "_state", STR) \
    OF(MACHINE, TEXT_PATH, "open_path", ANY) OF(MACHINE, WORD, "_word", STR) \
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
    OF(LANE, TURN_ID, "_turn_id", ANY) OF(LANE, VALUE_KEPT, "_value", ANY) \
    OF(ANSWERS, CALL_LANES, "_lanes", DICT) OF(ANSWERS, NEXT_LANE, "lane", ANY) \
    OF(CHAIN, IS_CLOSED, "_closed", ANY) OF(CHAIN, WAYS, "_lanes", ANY)

#define AS_NUMBER(class, slot, name, type) slot,
#define AS_ROW(class, slot, name, type) {class, name, type},
enum { EACH_SLOT(AS_NUMBER) SLOTS };
static const struct {
    int class;
    const char *name;
    unsigned long type;
} slots[SLOTS] = {EACH_SLOT(AS_ROW)};

static Py_ssize_t offsets[SLOTS];
#define SLOT_AT(object, offset) (*(PyObject **)((char *)(object) + (offset)))
#define SLOT(object, slot) SLOT_AT(object, offsets[slot])

/* The strings that both sides use: the states of the machine and of a number, words, and others. */
enum {
    BEGIN, VALUE, ITEM, NEXT_ITEM, KEY, NEXT_KEY, KEY_TEXT, ASSIGN, STRING, IN_WORD, NUMBER, NEXT, END,
    NUMBER_START, SIGN, ZERO, INTEGER, POINT, FRACTION, EXPONENT, POWER_SIGN, POWER, TRUE_WORD, FALSE_WORD, NULL_WORD,
    OPEN, TEXT, SCALAR, DONE, EMPTY, IN_TEXT, IN_SCALAR, QUOTE, BRACE, BRACKET, BRACE_END, BRACKET_END, TURN,
    RAW_TEXT, PIECES_OF, NAMES
};
static const char *const spelled[NAMES] = {
    "begin", "value", "item", "next_item", "key", "next_key", "key_text", "assign", "string", "word", "number", "next",
    "end", "start", "sign", "zero", "integer", "point", "fraction", "exponent", "power_sign", "power", "true", "false",
    "null", "OPEN", "TEXT", "SCALAR", "DONE", "", "text", "scalar", "\"", "{", "[", "}", "]", "turn_id",
    "raw", "fragments",
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
static int has_type(PyObject *value, unsigned long type)
{
    return value != NULL && PyType_HasFeature(Py_TYPE(value), type);
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

/* Put a new reference into a slot; -1 if it is NULL. */
static int set_slot(PyObject *machine, int slot, PyObject *value)
{
    if (value == NULL) return -1;
    Py_XSETREF(SLOT(machine, slot), value);
    return 0;
}

static PyObject *call_twin(int class, PyObject *self, PyObject *first, PyObject *second)
{
    PyObject *arguments[] = {self, first, second};
    return PyObject_Vectorcall(twins[class], arguments, second == NULL ? 2 : 3, NULL);
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
    PyObject *made = PyObject_Vectorcall((PyObject *)types[FRAGMENT], fields, 4, NULL);
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

/* Make the path that of a key or index inside another path; `step` as above. */
static int enter(Reader *reader, PyObject *around, PyObject *step)
{
    PyObject *path = further(around, step);
    if (path == NULL) return -1;
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
    if (!is_whole(machine, AT, WORD)) return 0;
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

/* Feed a machine. With `is_inside` only a text that lies in the open string, and gives some of it, is read; for others
 * NULL is returned with no exception set. */
static PyObject *read_text(PyObject *machine, PyObject *text, int is_inside)
{
    Py_ssize_t at, longest;
    Run run;
    Reader reader = {.machine = machine};
    PyObject *raw = NULL, *pending = SLOT(machine, PENDING), *given = NULL;
    if (!PyUnicode_CheckExact(text) || !has_type(SLOT(machine, AT), INT) || !has_type(SLOT(machine, LONGEST), INT)
        || !has_type(pending, STR) || SLOT(machine, TEXT_PATH) == NULL)
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
        && (run.length || !is_inside) && (run.stop == reader.chars.length || CHAR(&reader.chars, run.stop) != '"')) {
        given = give_inside(machine, raw, &reader.chars, &run, reader.end);
        goto finally;
    }
    if (is_inside || !take_state(&reader) || SLOT(machine, ERROR) != Py_None) goto purely;
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
    given = is_inside ? NULL : call_twin(MACHINE, machine, text, NULL);
finally:
    Py_XDECREF(raw);
    Py_XDECREF(reader.path);
    Py_XDECREF(reader.containers);
    return given;
}

static PyObject *feed(PyObject *machine, PyObject *text)
{
    return read_text(machine, text, 0);
}

/* ---- The value that fragments make ---- */

/* Put an item into the innermost container: as a new entry, or in place of one. */
static int put(PyObject *value, PyObject *path, PyObject *item)
{
    PyObject *holders = SLOT(value, HOLDERS);
    Py_ssize_t index, depth = PyList_GET_SIZE(holders), length = PyTuple_GET_SIZE(path);
    if (depth == 0 || length <= PyTuple_GET_SIZE(SLOT(value, ROOT_PATH))) return LEAVE;  /* it is the root */
    PyObject *holder = PyList_GET_ITEM(holders, depth - 1), *place = PyTuple_GET_ITEM(path, length - 1);
    if (PyDict_CheckExact(holder) && PyUnicode_CheckExact(place)) return PyDict_SetItem(holder, place, item);
    if (!PyList_CheckExact(holder) || !PyLong_CheckExact(place) || !as_offset(place, &index)) return LEAVE;
    return index < PyList_GET_SIZE(holder) ? PyList_SetItem(holder, index, Py_NewRef(item))
        : PyList_Append(holder, item);
}

static int open_entry(PyObject *value, PyObject *path, PyObject *sign)
{
    PyObject *text = SLOT(value, STRING_TEXT);
    int opened = PyUnicode_Check(sign) ? find_name(QUOTE, BRACKET, sign) : -1;
    if (opened == QUOTE) {
        if (PyList_GET_SIZE(SLOT(value, HOLDERS)) == 0 || PyList_GET_SIZE(SLOT(text, BLOCKS))
            || PyList_GET_SIZE(SLOT(text, LAST_PIECES))
            || PyTuple_GET_SIZE(path) <= PyTuple_GET_SIZE(SLOT(value, ROOT_PATH)))
            return LEAVE;
        set_slot(value, STRING_PATH, Py_NewRef(path));
        return set_slot(value, OPENED, Py_NewRef(names[IN_TEXT]));
    }
    if (opened < 0) return LEAVE;
    PyObject *holder = opened == BRACE ? PyDict_New() : PyList_New(0);
    int done = holder == NULL ? FAILED : put(value, path, holder);
    if (done == 0) {
        PyObject *key = Py_NewRef(PyTuple_GET_ITEM(path, PyTuple_GET_SIZE(path) - 1));
        set_slot(value, OPENED, Py_NewRef(names[EMPTY]));
        done = set_slot(value, KEYS, further(SLOT(value, KEYS), key)) < 0 ? FAILED
            : PyList_Append(SLOT(value, HOLDERS), holder);
    }
    Py_XDECREF(holder);
    return done;
}

static int end_entry(PyObject *value, PyObject *path)
{
    PyObject *holders = SLOT(value, HOLDERS), *keys = SLOT(value, KEYS), *text = SLOT(value, STRING_TEXT);
    PyObject *pieces = SLOT(text, LAST_PIECES);
    Py_ssize_t depth = PyList_GET_SIZE(holders);
    int opened = find_name(EMPTY, IN_SCALAR, SLOT(value, OPENED));
    if (depth == 0 || opened < 0 || (opened == IN_TEXT && PyList_GET_SIZE(SLOT(text, BLOCKS)))) return LEAVE;
    if (opened == EMPTY) {
        if (PyList_SetSlice(holders, depth - 1, depth, NULL) < 0
            || set_slot(value, KEYS, PyTuple_GetSlice(keys, 0, PyTuple_GET_SIZE(keys) - 1)) < 0)
            return FAILED;
        return depth > 1 ? 0 : set_slot(value, IS_DONE, Py_NewRef(Py_True));
    }
    if (opened == IN_TEXT) {
        PyObject *whole = PyUnicode_Join(names[EMPTY], pieces);
        int done = whole == NULL ? FAILED : put(value, path, whole);
        Py_XDECREF(whole);
        if (done < 0) return done;
        if (PyList_SetSlice(pieces, 0, PyList_GET_SIZE(pieces), NULL) < 0) return FAILED;
    }
    return set_slot(value, OPENED, Py_NewRef(names[EMPTY]));
}

static int add_fragment(PyObject *value, PyObject *piece)
{
    PyObject *text = SLOT(value, STRING_TEXT), *path, *item;
    if (!is_a(piece, FRAGMENT) || !is_whole(piece, PIECE_PATH, PIECE_VALUE) || !is_whole(value, HOLDERS, STRING_TEXT)
        || !is_a(text, GROWING_TEXT) || !is_whole(text, BLOCKS, LAST_PIECES))
        return LEAVE;
    path = SLOT(piece, PIECE_PATH);
    item = SLOT(piece, PIECE_VALUE);
    switch (find_name(OPEN, DONE, SLOT(piece, PIECE_KIND))) {
    case OPEN: return open_entry(value, path, item);
    case DONE: return end_entry(value, path);
    case TEXT:
        text = SLOT(text, LAST_PIECES);
        return PyList_GET_SIZE(text) < MANY - 1 ? PyList_Append(text, item) : LEAVE;
    case SCALAR: {
        int done = put(value, path, item);
        return done < 0 ? done : set_slot(value, OPENED, Py_NewRef(names[IN_SCALAR]));
    }
    default: return LEAVE;
    }
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

/* ---- The lane of a call ---- */

#define READ_AHEAD (-3)  /* the text was read, and has an error: the call has what was read, for the stages */

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
    if (!has_type(deltas, TUPLE) || PyTuple_GET_SIZE(deltas) != 1) return NULL;
    return is_a(PyTuple_GET_ITEM(deltas, 0), DELTA) ? PyTuple_GET_ITEM(deltas, 0) : NULL;
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
    PyObject *event = pieces == NULL ? NULL
        : PyObject_Vectorcall((PyObject *)types[CONTENT], fields, 3, content_keywords);
    Py_XDECREF(pieces);
    PyList_SET_ITEM(events, 0, event);
    if (event == NULL) Py_CLEAR(events);
    return events;
}

/* Keep a text, and what it says, for the call's end. */
static int keep(PyObject *lane, PyObject *text, PyObject *decoded, PyObject *items)
{
    if (SLOT(lane, RAW) == Py_None) return 0;
    if (PyList_Append(SLOT(lane, RAWS), text) < 0) return FAILED;
    if (decoded != NULL) return PyList_Append(SLOT(lane, TEXTS), decoded);
    PyObject *    none = feed_all(SLOT(lane, VALUE_KEPT), items);
    Py_XDECREF(none);
    return none == NULL ? FAILED : 0;
}

/* Whether a chunk has nothing but more text for a lane, for which all that becomes of it is known here. */
static int is_for(PyObject *lane, PyObject *chunk)
{
    PyObject *delta = only_delta(chunk), *like, *like_delta;
    if (delta == NULL || !is_whole(lane, CALL, VALUE_KEPT)) return 0;
    like = SLOT(lane, LIKE);
    like_delta = only_delta(like);
    return like_delta != NULL && are_alike(chunk, like, CHUNK, CALLS) && are_alike(delta, like_delta, DELTA, ARGUMENTS)
        && PyUnicode_CheckExact(SLOT(delta, ARGUMENTS)) && PyUnicode_GET_LENGTH(SLOT(delta, ARGUMENTS))
        && is_a(SLOT(lane, LANE_MACHINE), MACHINE) && SLOT(lane, CHECK) == Py_None
        && PyTuple_GET_SIZE(SLOT(lane, FURTHER)) == 0
        && (SLOT(lane, RAW) == Py_None || (PyList_Check(SLOT(lane, RAWS)) && PyList_GET_SIZE(SLOT(lane, RAWS)) < MANY - 1
            && PyList_Check(SLOT(lane, TEXTS)) && is_a(SLOT(lane, VALUE_KEPT), AGGREGATOR)));
}

/* Read a chunk, and set the events that come of it. */
static int read_chunk(PyObject *lane, PyObject *chunk, PyObject **events)
{
    if (!is_for(lane, chunk)) return LEAVE;
    PyObject *machine = Py_NewRef(SLOT(lane, LANE_MACHINE));
    PyObject *text = Py_NewRef(SLOT(only_delta(chunk), ARGUMENTS));
    PyObject *items = read_text(machine, text, SLOT(lane, IS_WIDE) != Py_True);
    int done = items != NULL ? 0 : PyErr_Occurred() ? FAILED : LEAVE;
    if (done == 0 && SLOT(machine, ERROR) != Py_None)
        done = PyObject_SetAttrString(SLOT(lane, CALL), "read_ahead", items) < 0 ? FAILED : READ_AHEAD;
    else if (done == 0) {
        /* Text that lies in the open string is a tuple of one TEXT. */
        int is_inside = PyTuple_CheckExact(items) && PyTuple_GET_SIZE(items) == 1;
        PyObject *decoded = is_inside ? SLOT(PyTuple_GET_ITEM(items, 0), PIECE_VALUE) : NULL;
        *events = content(lane, text, decoded, items);
        if (*events == NULL || keep(lane, text, decoded, items) < 0) {
            Py_CLEAR(*events);
            done = FAILED;
        }
    }
    Py_XDECREF(items);
    Py_DECREF(text);
    Py_DECREF(machine);
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

/* ---- The chain ---- */

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

/* Close the stages as failed, and go on with the exception that is set. */
static void close_failed(PyObject *chain)
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
}

static PyObject *feed_chain(PyObject *chain, PyObject *item)
{
    PyObject *answers = SLOT(chain, WAYS), *events = NULL;
    PyObject *lane = SLOT(chain, IS_CLOSED) == Py_False ? find_lane(answers, item) : NULL;
    if (lane != NULL) {
        int done = read_chunk(lane, item, &events);
        Py_DECREF(lane);
        if (done == 0) return events;
        if (done == FAILED) {
            close_failed(chain);
            return NULL;
        }
        if (done == READ_AHEAD) {  /* as `ResponseAnswers.feed` does first of all: the item is not for a lane */
            set_slot(answers, NEXT_LANE, Py_NewRef(Py_None));
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

/* What takes the place of a method: of which class, and how. */
static PyMethodDef methods[CLASSES] = {
    [MACHINE] = {"feed", feed, METH_O, "feed($self, text, /)\n--\n\nReturn the fragments that this text makes certain."},
    [AGGREGATOR] = {"feed_all", feed_all, METH_O, "feed_all($self, fragments, /)\n--\n\nAdd fragments."},
    [LANE] = {"read", (PyCFunction)(void (*)(void))read_lane, METH_FASTCALL,
              "read($self, answers, chunk, /)\n--\n\nReturn the events of a chunk."},
    [CHAIN] = {"feed", feed_chain, METH_O, "feed($self, item, /)\n--\n\nReturn what this item makes certain."},
};

static PyObject *install(PyObject *Py_UNUSED(module), PyObject *given)
{
    if (!PyType_Check(given)) return PyErr_Format(PyExc_TypeError, "install() takes a class, got %R", given);
    PyTypeObject *type = (PyTypeObject *)given;
    int class = 0;
    while (class < CLASSES && strcmp(class_names[class], type->tp_name) != 0) class++;
    if (class == CLASSES || types[class] != NULL)  /* in this process, by another interpreter or before a reload */
        Py_RETURN_FALSE;
    for (int slot = 0; slot < SLOTS; slot++)
        if (slots[slot].class == class && !take_offset(type, slot))
            Py_RETURN_FALSE;
    if (class == MACHINE) {
        PyObject *table = PyObject_GetAttrString(given, "STEPS");
        int is_table = table != NULL && PyDict_Check(table);
        for (int state = BEGIN; is_table && state <= END; state++) is_table = PyDict_Contains(table, names[state]) == 1;
        if (!is_table) {
            Py_XDECREF(table);
            PyErr_Clear();
            Py_RETURN_FALSE;
        }
        steps = table;
    }
    if (methods[class].ml_name != NULL) {
        PyObject *method = PyDescr_NewMethod(type, &methods[class]);
        twins[class] = PyObject_GetAttrString(given, methods[class].ml_name);
        int done = method == NULL || twins[class] == NULL ? FAILED
            : PyObject_SetAttrString(given, methods[class].ml_name, method);
        Py_XDECREF(method);
        if (done < 0) return NULL;
    }
    types[class] = (PyTypeObject *)Py_NewRef(given);
    Py_RETURN_TRUE;
}

static PyMethodDef functions[] = {
    {"install", install, METH_O,
     "install(class, /)\n--\n\nTake a class, and put a method in C on it; False, with nothing done, if it does not fit."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_native", .m_doc = "The hot readers in C.", .m_size = -1, .m_methods = functions,
};

PyMODINIT_FUNC PyInit__native(void)
{
    for (int each = 0; each < NAMES; each++)
        if ((names[each] = PyUnicode_InternFromString(spelled[each])) == NULL) return NULL;
    if ((content_keywords = PyTuple_Pack(3, names[TURN], names[RAW_TEXT], names[PIECES_OF])) == NULL) return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddIntConstant(module, "INTERFACE", INTERFACE) < 0) Py_CLEAR(module);
    return module;
}
