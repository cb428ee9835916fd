/* Judges outputs by the rules of docs/how-to/judge-without-python.md. Needs C99, libc and libm alone; C++ can include it.
 *
 * judge EXPECTED ACTUAL [--bound FILE] [--accept FILE]    judges one output
 * judge --corpus CORPUS CANDIDATES [--undecided] [--min-cases N]
 *                                                         judges a folder of candidates
 *
 * One output: all files are TensorProto files; ACTUAL can also be a file NAME.bin with the elements alone. The program
 * prints "pass", or "fail" with the reason.
 *
 * A folder: CORPUS is a folder that `onnx-conformance export` wrote, or an unpacked corpus archive. CANDIDATES has the
 * outputs of a runtime at the same places, as KIND/CASE/test_data_set_N/output_I.pb, or as output_I.bin with the elements
 * alone. The program prints every output that fails, and the number of cases by verdict. --undecided prints the undecided
 * outputs, too. Without the file index.csv, the program takes the cases from manifest.json, and counts undecided cases as
 * passed. A line of an output has the level of its case, and the index, expected and actual value of its first wrong
 * element. Notes name a missing index.csv, folders of CANDIDATES that are not cases of CORPUS, and failures of the level
 * should, which the command `run` does not count by default.
 *
 *   pass       all outputs are acceptable
 *   fail       an output is not acceptable or absent, or there are too many outputs
 *   undecided  all outputs are within their bounds, but only the package checks whether one computation explains them
 *   missing    CANDIDATES has no output of the case, also if the runtime raised an error
 *   recorded   as fail, but the level of the case is silent: the specification leaves the answer open
 *
 * Exit status: 0 if no case fails and one passes or is undecided, 1 otherwise, 2 if an option or a file of the corpus
 * cannot be used, CANDIDATES is not a folder, the corpus has other cases than it announces, or fewer than N cases have
 * an output. No file is trusted: sizes are limited, and no path leaves the two folders.
 *
 * For a target without files, define JUDGE_NO_MAIN, include this file, and call judge_parse and judge_count_wrong.
 */
#if !defined JUDGE_NO_MAIN && (defined __unix__ || defined __APPLE__)
#define JUDGE_POSIX
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __FAST_MATH__
#error "the judge compares NaN, infinities and signs of zero: compile it without -ffast-math"
#endif
#if CHAR_BIT != 8 || DBL_MANT_DIG != 53 || FLT_MANT_DIG != 24
#error "the judge needs bytes of 8 bits, and float and double of IEEE 754"
#endif

enum { JUDGE_MAX_RANK = 32, JUDGE_MAX_BYTES = 1 << 28 };

/* Element types: numbers of TensorProto.DataType. */
enum {
    JUDGE_FLOAT = 1,
    JUDGE_INT8 = 3,
    JUDGE_INT16 = 5,
    JUDGE_INT32 = 6,
    JUDGE_UINT32 = 12,
    JUDGE_INT64 = 7,
    JUDGE_STRING = 8,
    JUDGE_BOOL = 9,
    JUDGE_FLOAT16 = 10,
    JUDGE_DOUBLE = 11,
    JUDGE_UINT64 = 13,
    JUDGE_BFLOAT16 = 16,
    JUDGE_FLOAT8E4M3FN = 17,
    JUDGE_FLOAT8E4M3FNUZ = 18,
    JUDGE_FLOAT8E5M2 = 19,
    JUDGE_FLOAT8E5M2FNUZ = 20,
    JUDGE_UINT4 = 21,
    JUDGE_INT4 = 22,
    JUDGE_FLOAT4E2M1 = 23,
    JUDGE_FLOAT8E8M0 = 24,
    JUDGE_UINT2 = 25,
    JUDGE_INT2 = 26,
    JUDGE_FLOAT6E2M3 = 27,
    JUDGE_FLOAT6E3M2 = 28
};

/* A tensor. The elements at `data` are little-endian and in row-major order. That of a tensor of strings are 8 bytes: the
 * size of the text, and in the upper 4 bytes its offset from `texts`. */
typedef struct {
    uint64_t dims[JUDGE_MAX_RANK];
    uint64_t type;
    size_t rank, elements, width;
    const unsigned char *data;
    const unsigned char *texts; /* the file with the texts of a tensor of strings; else NULL */
    unsigned char *decoded; /* owned copy of elements that the file stores as numbers or packed; else NULL */
} judge_tensor;

/* Bytes of an element of a type; 0 if no corpus uses the type. An element of less than a byte is unpacked to one. */
static size_t judge_width(uint64_t type) {
    static const unsigned char widths[29] = {0, 4, 1, 1, 2, 2, 4, 8, 8, 1, 2, 8, 4, 8, 0, 0, 2,
                                             1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    return type < 29 ? widths[type] : 0;
}

/* Bits of an element of a type that files pack into bytes; 0 for other types. */
static unsigned judge_packed_bits(uint64_t type) {
    if (type == JUDGE_UINT4 || type == JUDGE_INT4 || type == JUDGE_FLOAT4E2M1) return 4;
    if (type == JUDGE_FLOAT6E2M3 || type == JUDGE_FLOAT6E3M2) return 6;
    return type == JUDGE_UINT2 || type == JUDGE_INT2 ? 2 : 0;
}

/* ---- Protocol buffers. */

typedef struct {
    uint64_t number, value; /* number of the field; its value, or the size of its bytes */
    unsigned wire;
    const unsigned char *bytes;
} judge_field;

static int judge_varint(const unsigned char **at, const unsigned char *end, uint64_t *value) {
    unsigned shift = 0;
    for (*value = 0; *at < end && shift < 64; shift += 7) {
        const unsigned char byte = *(*at)++;
        if (shift == 63 && byte > 1) return 0;
        *value |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128)) return 1;
    }
    return 0;
}

/* Read a little-endian number of `width` bytes. */
static uint64_t judge_fixed(const unsigned char *bytes, size_t width) {
    uint64_t bits = 0;
    while (width-- > 0) bits = bits << 8 | bytes[width];
    return bits;
}

static int judge_next(const unsigned char **at, const unsigned char *end, judge_field *field) {
    uint64_t key, size;
    if (!judge_varint(at, end, &key)) return 0;
    field->number = key >> 3;
    field->wire = (unsigned)(key & 7);
    field->bytes = *at;
    if (field->wire == 0) return judge_varint(at, end, &field->value);
    if (field->wire == 1 || field->wire == 5) size = field->wire == 1 ? 8 : 4;
    else if (field->wire != 2 || !judge_varint(at, end, &size)) return 0;
    if (size > (uint64_t)(end - *at)) return 0;
    field->bytes = *at;
    field->value = field->wire == 2 ? size : judge_fixed(*at, (size_t)size);
    *at += (size_t)size;
    return 1;
}

static int judge_add_dim(judge_tensor *tensor, uint64_t dim) {
    if (tensor->rank == JUDGE_MAX_RANK) return 0;
    tensor->dims[tensor->rank++] = dim;
    return 1;
}

/* Set the number of elements and the width; return 0 if the type is unknown or the tensor is too large. */
static int judge_measure(judge_tensor *tensor) {
    size_t i;
    tensor->width = judge_width(tensor->type);
    if (!tensor->width) return 0;
    tensor->elements = 1;
    for (i = 0; i < tensor->rank; ++i)
        if (tensor->dims[i] == 0) tensor->elements = 0;
    for (i = 0; tensor->elements && i < tensor->rank; ++i) {
        if (tensor->dims[i] > JUDGE_MAX_BYTES / tensor->elements) return 0;
        tensor->elements *= (size_t)tensor->dims[i];
    }
    return tensor->elements <= JUDGE_MAX_BYTES / tensor->width;
}

static int judge_put(judge_tensor *tensor, size_t *count, uint64_t bits) {
    size_t i;
    if (*count == tensor->elements) return 0;
    for (i = 0; i < tensor->width; ++i) tensor->decoded[*count * tensor->width + i] = (unsigned char)(bits >> 8 * i);
    ++*count;
    return 1;
}

/* The field that stores elements of a type as numbers: float_data, int32_data, int64_data, double_data, uint64_data. */
static uint64_t judge_number_field(uint64_t type) {
    if (type == JUDGE_FLOAT) return 4;
    if (type == JUDGE_INT64) return 7;
    if (type == JUDGE_DOUBLE) return 10;
    return type == JUDGE_UINT32 || type == JUDGE_UINT64 ? 11 : 5;
}

/* Decode elements that are stored as numbers, packed or not. */
static int judge_decode(judge_tensor *tensor, const unsigned char *at, const unsigned char *end) {
    const unsigned wire = tensor->type == JUDGE_FLOAT ? 5 : tensor->type == JUDGE_DOUBLE ? 1 : 0;
    judge_field field;
    size_t count = 0;
    tensor->data = tensor->decoded = (unsigned char *)malloc(tensor->elements * tensor->width + 1);
    if (!tensor->decoded) return 0;
    while (at < end) {
        if (!judge_next(&at, end, &field)) return 0;
        if (field.number != judge_number_field(tensor->type)) continue;
        if (field.wire == wire) {
            if (!judge_put(tensor, &count, field.value)) return 0;
        } else if (field.wire == 2) {
            const unsigned char *each = field.bytes, *const stop = each + (size_t)field.value;
            while (each < stop) {
                uint64_t bits;
                if (wire == 0) {
                    if (!judge_varint(&each, stop, &bits)) return 0;
                } else {
                    if ((size_t)(stop - each) < tensor->width) return 0;
                    bits = judge_fixed(each, tensor->width);
                    each += tensor->width;
                }
                if (!judge_put(tensor, &count, bits)) return 0;
            }
        } else return 0;
    }
    return count == tensor->elements;
}

/* Find the texts of a tensor of strings in its file: the fields string_data. */
static int judge_find_texts(judge_tensor *tensor, const unsigned char *bytes, const unsigned char *end) {
    const unsigned char *at = bytes;
    judge_field field;
    size_t count = 0;
    if (tensor->data || (uint64_t)(end - bytes) > UINT32_MAX) return 0;
    tensor->texts = bytes;
    tensor->data = tensor->decoded = (unsigned char *)malloc(tensor->elements * tensor->width + 1);
    if (!tensor->decoded) return 0;
    while (at < end) {
        if (!judge_next(&at, end, &field)) return 0;
        if (field.number != 6) continue;
        if (field.wire != 2) return 0;
        if (!judge_put(tensor, &count, (uint64_t)(field.bytes - bytes) << 32 | field.value)) return 0;
    }
    return count == tensor->elements;
}

/* Replace the packed elements of a tensor by one byte per element, with the sign of a signed type in all its bits. */
static int judge_unpack(judge_tensor *tensor, size_t elements, unsigned bits) {
    unsigned char *const unpacked = (unsigned char *)malloc(elements + 1);
    const unsigned mask = (1u << bits) - 1, sign = 1u << (bits - 1);
    const int is_signed = tensor->type == JUDGE_INT4 || tensor->type == JUDGE_INT2;
    size_t i;
    if (!unpacked) return 0;
    for (i = 0; i < elements; ++i) {
        const unsigned shift = (unsigned)(i * bits % 8);
        const unsigned char *const first = tensor->data + i * bits / 8;
        const unsigned next = shift + bits > 8 ? (unsigned)first[1] << (8 - shift) : 0;
        const unsigned element = ((unsigned)*first >> shift | next) & mask;
        unpacked[i] = (unsigned char)(is_signed && (element & sign) ? element | ~mask : element);
    }
    free(tensor->decoded);
    tensor->data = tensor->decoded = unpacked;
    tensor->elements = elements;
    return 1;
}

/* Read a TensorProto of `size` bytes; return whether it is a tensor of the corpus. The bytes must outlive the tensor.
 * Elements in raw_data, as in all files of the corpus, are not copied. */
static inline int judge_parse(judge_tensor *tensor, const unsigned char *bytes, size_t size) {
    const unsigned char *at = bytes, *const end = bytes + size;
    judge_field field;
    size_t raw = 0;
    memset(tensor, 0, sizeof *tensor);
    while (at < end) {
        if (!judge_next(&at, end, &field)) return 0;
        if (field.number == 1 && field.wire == 0) {
            if (!judge_add_dim(tensor, field.value)) return 0;
        } else if (field.number == 1 && field.wire == 2) {
            const unsigned char *dims = field.bytes, *const stop = dims + (size_t)field.value;
            uint64_t dim;
            while (dims < stop)
                if (!judge_varint(&dims, stop, &dim) || !judge_add_dim(tensor, dim)) return 0;
        } else if (field.number == 2 && field.wire == 0) {
            tensor->type = field.value;
        } else if (field.number == 9 && field.wire == 2) {
            tensor->data = field.bytes;
            raw = (size_t)field.value;
        } else if (field.number == 14 && field.wire == 0 && field.value) {
            return 0; /* the elements are in another file */
        }
    }
    if (!judge_measure(tensor)) return 0;
    if (tensor->type == JUDGE_STRING) return judge_find_texts(tensor, bytes, end);
    {
        const unsigned bits = judge_packed_bits(tensor->type);
        const size_t elements = tensor->elements;
        if (bits) tensor->elements = (elements * bits + 7) / 8;
        if (tensor->data ? raw != tensor->elements * tensor->width : !judge_decode(tensor, bytes, end)) return 0;
        return !bits || judge_unpack(tensor, elements, bits);
    }
}

/* Free what judge_parse allocated. */
static inline void judge_free(judge_tensor *tensor) {
    free(tensor->decoded);
    tensor->decoded = NULL;
}

/* ---- The rules. */

static uint64_t judge_bits(const judge_tensor *tensor, size_t index) {
    return judge_fixed(tensor->data + index * tensor->width, tensor->width);
}

static int judge_is_floating(const judge_tensor *tensor) {
    return tensor->type == JUDGE_FLOAT || tensor->type == JUDGE_DOUBLE || tensor->type == JUDGE_FLOAT16 ||
           (tensor->type >= JUDGE_BFLOAT16 && tensor->type <= JUDGE_FLOAT8E5M2FNUZ) ||
           tensor->type == JUDGE_FLOAT4E2M1 || tensor->type == JUDGE_FLOAT8E8M0 ||
           tensor->type == JUDGE_FLOAT6E2M3 || tensor->type == JUDGE_FLOAT6E3M2;
}

/* A number of a format with at most 8 bits. The formats differ in the bias of the exponent and in NaN and infinity. */
static double judge_small_number(uint64_t type, unsigned bits) {
    static const unsigned char exponent_bits[12] = {4, 4, 5, 5, 0, 0, 2, 8, 0, 0, 2, 3};
    static const unsigned char fraction_bits[12] = {3, 3, 2, 2, 0, 0, 1, 0, 0, 0, 3, 2};
    static const int biases[12] = {7, 8, 15, 16, 0, 0, 1, 127, 0, 0, 1, 3};
    const size_t row = (size_t)(type - JUDGE_FLOAT8E4M3FN);
    const int width = exponent_bits[row], fraction_width = fraction_bits[row];
    const int exponent = (int)(bits >> fraction_width) & ((1 << width) - 1);
    const int fraction = (int)bits & ((1 << fraction_width) - 1);
    const int is_negative = type != JUDGE_FLOAT8E8M0 && (bits >> (width + fraction_width) & 1);
    double size;
    if (type == JUDGE_FLOAT8E8M0) return bits == 255 ? NAN : ldexp(1, exponent - biases[row]);
    if ((type == JUDGE_FLOAT8E4M3FNUZ || type == JUDGE_FLOAT8E5M2FNUZ) && bits == 128) return NAN;
    if (type == JUDGE_FLOAT8E4M3FN && (bits & 127) == 127) return NAN;
    if (type == JUDGE_FLOAT8E5M2 && exponent == 31) size = fraction ? NAN : INFINITY;
    else if (exponent) size = ldexp(fraction + (1 << fraction_width), exponent - biases[row] - fraction_width);
    else size = ldexp(fraction, 1 - biases[row] - fraction_width);
    return is_negative ? -size : size;
}

/* An integer as a signed number, with its bits. */
static int64_t judge_integer(const judge_tensor *tensor, size_t index) {
    const unsigned unused = (unsigned)(64 - 8 * tensor->width);
    const uint64_t bits = judge_bits(tensor, index);
    const int is_signed = tensor->type == JUDGE_INT8 || tensor->type == JUDGE_INT16 || tensor->type == JUDGE_INT32 ||
                          tensor->type == JUDGE_INT64 || tensor->type == JUDGE_INT4 || tensor->type == JUDGE_INT2;
    return (int64_t)(is_signed && bits >> (63 - unused) & 1 && unused ? bits | ~(uint64_t)0 << (64 - unused) : bits);
}

/* The distance of two integers, rounded to double. */
static double judge_distance(const judge_tensor *expected, const judge_tensor *actual, size_t index) {
    const int64_t a = judge_integer(expected, index), b = judge_integer(actual, index);
    const int is_larger = expected->type == JUDGE_UINT64 ? (uint64_t)a > (uint64_t)b : a > b;
    return (double)(is_larger ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a);
}

/* A floating-point element, converted to double without rounding. */
static double judge_number(const judge_tensor *tensor, size_t index) {
    const uint64_t bits = judge_bits(tensor, index);
    if (tensor->type == JUDGE_DOUBLE) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (tensor->type > JUDGE_BFLOAT16) return judge_small_number(tensor->type, (unsigned)bits);
    if (tensor->type == JUDGE_FLOAT16) {
        const int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
        const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                            : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                           : ldexp(fraction, -24);
        return bits >> 15 ? -size : size;
    } else {
        const uint32_t wide = (uint32_t)(tensor->type == JUDGE_BFLOAT16 ? bits << 16 : bits);
        float value;
        memcpy(&value, &wide, sizeof value);
        return value;
    }
}

/* Return whether an element of two tensors of strings is the same text. */
static int judge_is_same_text(const judge_tensor *expected, const judge_tensor *actual, size_t index) {
    const uint64_t wanted = judge_bits(expected, index), got = judge_bits(actual, index);
    const size_t size = (size_t)(wanted & UINT32_MAX);
    if (!expected->texts || !actual->texts || (got & UINT32_MAX) != size) return 0;
    return !memcmp(expected->texts + (size_t)(wanted >> 32), actual->texts + (size_t)(got >> 32), size);
}

static int judge_is_right(const judge_tensor *expected, const judge_tensor *bound, const judge_tensor *accept,
                          const judge_tensor *actual, size_t i) {
    if (accept) {
        const uint64_t choices = accept->dims[accept->rank - 1], index = judge_bits(actual, i);
        return index < choices && accept->data[i * (size_t)choices + (size_t)index];
    }
    if (expected->type == JUDGE_STRING) return judge_is_same_text(expected, actual, i);
    if (!judge_is_floating(expected))
        return bound ? judge_distance(expected, actual, i) <= judge_number(bound, i)
                     : judge_bits(expected, i) == judge_bits(actual, i);
    {
        const double wanted = judge_number(expected, i), got = judge_number(actual, i);
        if (bound && isinf(judge_number(bound, i))) return 1;
        if (isnan(wanted) || isnan(got)) return isnan(wanted) && isnan(got);
        if (!bound) return got == wanted && !signbit(got) == !signbit(wanted);
        return got == wanted || fabs(got - wanted) <= judge_number(bound, i);
    }
}

static int judge_has_shape(const judge_tensor *tensor, const judge_tensor *of, size_t more) {
    return tensor->rank == of->rank + more && !memcmp(tensor->dims, of->dims, of->rank * sizeof *of->dims);
}

/* Return whether bound and acceptable indices belong to an expected output; each can be NULL. */
static inline int judge_fits(const judge_tensor *expected, const judge_tensor *bound, const judge_tensor *accept) {
    if (expected->type == JUDGE_STRING && (bound || accept)) return 0;
    if (bound && (bound->type != JUDGE_DOUBLE || !judge_has_shape(bound, expected, 0))) return 0;
    return !accept || (accept->type == JUDGE_BOOL && judge_has_shape(accept, expected, 1) &&
                       expected->type == JUDGE_INT64);
}

/* Return whether an actual output has the type and shape of the expected output. */
static inline int judge_has_type_and_shape(const judge_tensor *actual, const judge_tensor *expected) {
    return actual->type == expected->type && judge_has_shape(actual, expected, 0);
}

/* Return the number of wrong elements of an output; 0 means that the output is acceptable.
 * The arguments must satisfy judge_fits and judge_has_type_and_shape; `bound` and `accept` can be NULL. */
static inline size_t judge_count_wrong(const judge_tensor *expected, const judge_tensor *bound, const judge_tensor *accept,
                                const judge_tensor *actual) {
    size_t i, wrong = 0;
    for (i = 0; i < expected->elements; ++i) wrong += !judge_is_right(expected, bound, accept, actual, i);
    return wrong;
}

#ifndef JUDGE_NO_MAIN

/* ---- Files. */

typedef struct {
    judge_tensor tensor;
    unsigned char *bytes;
    size_t size;
} judge_file;

static judge_tensor *judge_or_null(judge_file *file) { return file->bytes ? &file->tensor : NULL; }

/* Opens a regular file. Where there is POSIX, the program does not wait for a pipe, and reads no device. */
static FILE *judge_open(const char *path) {
#ifdef JUDGE_POSIX
    struct stat status;
    FILE *file;
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK);
    if (descriptor < 0) return NULL;
    file = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) ? fdopen(descriptor, "rb") : NULL;
    if (!file) close(descriptor);
    return file;
#else
    return fopen(path, "rb");
#endif
}

static int judge_exists(const char *path) {
    FILE *file = judge_open(path);
    if (file) fclose(file);
    return file != NULL;
}

static int judge_read_bytes(const char *path, judge_file *read) {
    FILE *file = judge_open(path);
    size_t room = 4096, got;
    memset(read, 0, sizeof *read);
    if (!file) return 0;
    read->bytes = (unsigned char *)malloc(room);
    while (read->bytes && (got = fread(read->bytes + read->size, 1, room - read->size, file)) > 0) {
        read->size += got;
        if (read->size == room) {
            unsigned char *larger =
                room < JUDGE_MAX_BYTES ? (unsigned char *)realloc(read->bytes, room *= 2) : NULL;
            if (!larger) break;
            read->bytes = larger;
        }
    }
    got = read->bytes && feof(file) && !ferror(file);
    fclose(file);
    return got != 0;
}

static int judge_read(const char *path, judge_file *read) {
    return judge_read_bytes(path, read) && judge_parse(&read->tensor, read->bytes, read->size);
}

static void judge_close(judge_file *file) {
    judge_free(&file->tensor);
    free(file->bytes);
    file->bytes = NULL;
}

static int judge_refuse(const char *problem, const char *name) {
    fprintf(stderr, problem, name);
    fputc('\n', stderr);
    return 2;
}

/* Print the beginning of a text; nothing in it may control a terminal. */
static void judge_print_text(const judge_tensor *tensor, size_t index) {
    const uint64_t bits = judge_bits(tensor, index);
    const size_t size = (size_t)(bits & UINT32_MAX), shown = size < 60 ? size : 60;
    const unsigned char *const text = tensor->texts + (size_t)(bits >> 32);
    size_t i;
    putchar('"');
    for (i = 0; i < shown; ++i) {
        if (text[i] < ' ' || text[i] > '~' || text[i] == '"' || text[i] == '\\') printf("\\x%02x", (unsigned)text[i]);
        else putchar(text[i]);
    }
    fputs(shown < size ? "\"..." : "\"", stdout);
}

/* Print an element as a decimal number, or as a text in quotation marks. */
static void judge_print_element(const judge_tensor *tensor, size_t index) {
    if (tensor->type == JUDGE_STRING) judge_print_text(tensor, index);
    else if (judge_is_floating(tensor)) {
        const double value = judge_number(tensor, index);
        if (isnan(value)) fputs("nan", stdout);
        else printf("%.*g", tensor->type == JUDGE_DOUBLE ? 17 : 9, value);
    } else if (tensor->type == JUDGE_UINT64) printf("%" PRIu64, judge_bits(tensor, index));
    else printf("%" PRId64, judge_integer(tensor, index));
}

/* Print the number of wrong elements, and the index, expected and actual value of the first one. */
static void judge_print_wrong(const judge_tensor *expected, const judge_tensor *bound, const judge_tensor *accept,
                              const judge_tensor *actual, size_t wrong) {
    size_t first = 0, axis, stride = expected->elements;
    while (judge_is_right(expected, bound, accept, actual, first)) ++first;
    printf("%lu wrong of %lu elements, first at [", (unsigned long)wrong, (unsigned long)expected->elements);
    for (axis = 0; axis < expected->rank; ++axis) {
        const size_t dim = (size_t)expected->dims[axis];
        stride /= dim;
        printf("%s%lu", axis ? ", " : "", (unsigned long)(first / stride % dim));
    }
    fputs("]: expected ", stdout);
    judge_print_element(expected, first);
    fputs(", actual ", stdout);
    judge_print_element(actual, first);
    putchar('\n');
}

/* ---- One output. */

/* Read a candidate. A .bin file has the type and the shape of the expected output. Returns NULL, or what is wrong. */
static const char *judge_read_candidate(const char *path, const judge_tensor *expected, judge_file *actual) {
    const size_t length = strlen(path), wanted = expected->elements * expected->width;
    static char problem[96];
    if (length < 4 || strcmp(path + length - 4, ".bin"))
        return judge_read(path, actual) ? NULL : "not a TensorProto file; a file of elements alone must end with .bin";
    if (expected->type == JUDGE_STRING) return "a tensor of strings must be a TensorProto file";
    if (!judge_read_bytes(path, actual)) return "not readable";
    actual->tensor = *expected;
    actual->tensor.decoded = NULL;
    actual->tensor.data = actual->bytes;
    if (actual->size == wanted) return NULL;
    snprintf(problem, sizeof problem, "the .bin file has %lu bytes instead of %lu", (unsigned long)actual->size,
             (unsigned long)wanted);
    return problem;
}

static int judge_one(int count, char **words) {
    static judge_file expected, actual, bound, accept;
    int i, status = judge_read(words[1], &expected) ? 0 : judge_refuse("%s is not a tensor of the corpus.", words[1]);
    for (i = 3; !status && i < count; i += 2) {
        judge_file *const file = !strcmp(words[i], "--bound") ? &bound : !strcmp(words[i], "--accept") ? &accept : NULL;
        if (!file || file->bytes) status = judge_refuse("The option %s is unknown or is given twice.", words[i]);
        else if (!judge_read(words[i + 1], file) ||
                 !judge_fits(&expected.tensor, judge_or_null(&bound), judge_or_null(&accept)))
            status = judge_refuse("%s does not fit the expected output.", words[i + 1]);
    }
    if (!status) {
        const char *problem = judge_read_candidate(words[2], &expected.tensor, &actual);
        if (!problem && !judge_has_type_and_shape(&actual.tensor, &expected.tensor)) problem = "wrong type or shape";
        if (problem) {
            status = 1;
            printf("fail: %s\n", problem);
        } else {
            const size_t wrong = judge_count_wrong(&expected.tensor, judge_or_null(&bound), judge_or_null(&accept),
                                                   &actual.tensor);
            status = wrong != 0;
            fputs(wrong ? "fail: " : "pass\n", stdout);
            if (wrong)
                judge_print_wrong(&expected.tensor, judge_or_null(&bound), judge_or_null(&accept), &actual.tensor,
                                  wrong);
        }
    }
    judge_close(&expected), judge_close(&actual), judge_close(&bound), judge_close(&accept);
    return status;
}

/* ---- A folder of candidates. */

enum { JUDGE_MAX_NAME = 255, JUDGE_MAX_PATH = 4096, JUDGE_MAX_OUTPUTS = 512, JUDGE_MAX_LINE = 16384 };
enum { JUDGE_MAX_CHECKS = JUDGE_MAX_LINE / 6 + 1 };
enum { JUDGE_PASS, JUDGE_FAIL, JUDGE_UNDECIDED, JUDGE_MISSING, JUDGE_RECORDED, JUDGE_VERDICTS };

enum { JUDGE_MAX_DATA_SETS = 100000, JUDGE_MAX_CASES = 100000000 };

static const char *const judge_columns = "case,kind,level,data_sets,checks,one_computation,cases,";

/* A case, as a line of index.csv describes it. */
typedef struct {
    char name[JUDGE_MAX_NAME + 1], kind[8], level[8];
    unsigned long data_sets;
    unsigned long cases; /* number of cases of the corpus, which each line of index.csv announces */
    size_t outputs;
    int has_rows;                            /* whether the data sets have different checks */
    char checks[JUDGE_MAX_CHECKS];           /* per output, or per data set and output: 'e'xact, 'b'ound or 'i'ndex */
    char one_computation[JUDGE_MAX_OUTPUTS]; /* per output: whether one computation must explain it */
} judge_case;

/* Copy the text up to the next comma, and move behind it; return 0 if there is no comma or no room. */
static int judge_column(const char **at, char *text, size_t room) {
    const char *const end = strchr(*at, ',');
    if (!end || (size_t)(end - *at) >= room) return 0;
    memcpy(text, *at, (size_t)(end - *at));
    text[end - *at] = 0;
    *at = end + 1;
    return 1;
}

static int judge_read_number(const char **at, unsigned long limit, unsigned long *value) {
    const char *const start = *at;
    for (*value = 0; **at >= '0' && **at <= '9'; ++*at) {
        *value = *value * 10 + (unsigned long)(**at - '0');
        if (*value > limit) return 0;
    }
    return *at > start;
}

/* Read the column `checks`; return whether it is well-formed. */
static int judge_read_checks(const char *at, judge_case *found) {
    size_t count = 0, rows = 1, row = 0;
    for (; *at; at += strcspn(at, " "), at += *at == ' ') {
        const size_t size = strcspn(at, " ");
        if (size == 1 && *at == '|') {
            if (rows++ == 1) found->outputs = row;
            if (row != found->outputs) return 0;
            row = 0;
        } else {
            if (size != 5 || (strncmp(at, "exact", 5) && strncmp(at, "bound", 5) && strncmp(at, "index", 5))) return 0;
            if (count == JUDGE_MAX_CHECKS || ++row > JUDGE_MAX_OUTPUTS) return 0;
            found->checks[count++] = *at;
        }
    }
    if (rows == 1) found->outputs = row;
    found->has_rows = rows > 1;
    return row == found->outputs && (rows == 1 || rows == found->data_sets);
}

/* Return whether a text can be the name and the kind of a case; both become parts of a path. */
static int judge_is_case(const judge_case *found) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    return found->name[0] && !found->name[strspn(found->name, letters)] &&
           (!strcmp(found->kind, "node") || !strcmp(found->kind, "pass") || !strcmp(found->kind, "invalid"));
}

static int judge_has_level(const judge_case *found) {
    return !strcmp(found->level, "must") || !strcmp(found->level, "should") || !strcmp(found->level, "silent");
}

/* Read a line of index.csv; return whether it is well-formed. */
static int judge_read_case(const char *line, judge_case *found) {
    static char checks[JUDGE_MAX_LINE], numbers[JUDGE_MAX_LINE];
    char data_sets[16], cases[16];
    const char *at = line;
    memset(found, 0, sizeof *found);
    if (!judge_column(&at, found->name, sizeof found->name) || !judge_column(&at, found->kind, sizeof found->kind) ||
        !judge_column(&at, found->level, sizeof found->level) ||
        !judge_column(&at, data_sets, sizeof data_sets) ||
        !judge_column(&at, checks, sizeof checks) || !judge_column(&at, numbers, sizeof numbers) ||
        !judge_column(&at, cases, sizeof cases))
        return 0;
    if (!judge_is_case(found) || !judge_has_level(found)) return 0;
    at = data_sets;
    if (!judge_read_number(&at, JUDGE_MAX_DATA_SETS, &found->data_sets) || *at) return 0;
    at = cases;
    if (!judge_read_number(&at, JUDGE_MAX_CASES, &found->cases) || *at) return 0;
    if (!judge_read_checks(checks, found)) return 0;
    for (at = numbers; *at; at += *at == ' ') {
        unsigned long output;
        if (!judge_read_number(&at, JUDGE_MAX_OUTPUTS, &output) || (*at && *at != ' ') || output >= found->outputs)
            return 0;
        found->one_computation[output] = 1;
    }
    return 1;
}

/* Write the path of a file of a case; return 0 if it is too long. */
static int judge_path(char *path, const char *folder, const judge_case *of, unsigned long data_set, const char *part,
                      size_t number, const char *ending) {
    const int size = snprintf(path, JUDGE_MAX_PATH, "%s/%s/%s/test_data_set_%lu/%s_%lu.%s", folder, of->kind, of->name,
                              data_set, part, (unsigned long)number, ending);
    return size > 0 && size < JUDGE_MAX_PATH;
}

/* Return whether a file of a case exists in a corpus. */
static int judge_has(const char *corpus, const judge_case *of, unsigned long data_set, const char *part, size_t number) {
    static char path[JUDGE_MAX_PATH];
    return judge_path(path, corpus, of, data_set, part, number, "pb") && judge_exists(path);
}

/* Return whether the files of a case that the program reads are in the corpus: its model and its expected outputs. */
static int judge_is_complete(const char *corpus, const judge_case *of) {
    static char path[JUDGE_MAX_PATH];
    const int size = snprintf(path, sizeof path, "%s/%s/%s/model.onnx", corpus, of->kind, of->name);
    unsigned long data_set;
    size_t number;
    if (size <= 0 || size >= JUDGE_MAX_PATH || !judge_exists(path)) return 0;
    for (data_set = 0; data_set < of->data_sets; ++data_set)
        for (number = 0; number < of->outputs; ++number)
            if (!judge_has(corpus, of, data_set, "output", number)) return 0;
    return 1;
}

/* Return whether a line of manifest.json begins the files of a case, `  "KIND/NAME": {`. */
static int judge_begins_files(const char *line) {
    judge_case found;
    char brace;
    return sscanf(line, " \"%7[a-z]/%255[A-Za-z0-9_]\": %c", found.kind, found.name, &brace) == 3 && brace == '{' &&
           judge_is_case(&found);
}

/* Read a line of manifest.json that has the level of a case, `  "KIND/NAME": "LEVEL",`, and find the data sets and the
 * outputs by their files. Returns 1, 0 if the line is not of a case, or -1 if the level is unknown or the case too large. */
static int judge_read_level(const char *corpus, const char *line, judge_case *found) {
    size_t count = 0, number;
    memset(found, 0, sizeof *found);
    if (sscanf(line, " \"%7[a-z]/%255[A-Za-z0-9_]\": \"%7[a-z]\"", found->kind, found->name, found->level) != 3)
        return 0;
    if (!judge_is_case(found)) return 0;
    if (!judge_has_level(found)) return -1;
    while (found->outputs <= JUDGE_MAX_OUTPUTS && judge_has(corpus, found, 0, "output", found->outputs)) ++found->outputs;
    if (found->outputs > JUDGE_MAX_OUTPUTS) return -1;
    found->has_rows = 1;
    while (judge_has(corpus, found, found->data_sets, found->outputs ? "output" : "input", 0)) {
        if (found->data_sets == JUDGE_MAX_DATA_SETS || count + found->outputs > JUDGE_MAX_CHECKS) return -1;
        for (number = 0; number < found->outputs; ++number)
            found->checks[count++] = judge_has(corpus, found, found->data_sets, "bound", number)    ? 'b'
                                     : judge_has(corpus, found, found->data_sets, "accept", number) ? 'i'
                                                                                                    : 'e';
        ++found->data_sets;
    }
    return 1;
}

/* Find output `number` of a candidate, as .pb or as .bin; return 0 if it does not exist. */
static int judge_find(char *path, const char *candidates, const judge_case *of, unsigned long data_set, size_t number) {
    return (judge_path(path, candidates, of, data_set, "output", number, "pb") && judge_exists(path)) ||
           (judge_path(path, candidates, of, data_set, "output", number, "bin") && judge_exists(path));
}

/* Print the beginning of a line about an output that fails or is recorded. */
static void judge_print_fail(const judge_case *of, unsigned long data_set, size_t number) {
    printf("%s %s %s/%s/test_data_set_%lu/output_%lu: ", strcmp(of->level, "silent") ? "fail" : "recorded", of->level,
           of->kind, of->name, data_set, (unsigned long)number);
}

/* Judge one output of a case. Returns a verdict, or -1 if the corpus cannot be used; sets `is_equal` to 0 if an element
 * differs from the expected output in a bit. */
static int judge_case_output(const char *corpus, const char *candidates, const judge_case *of, unsigned long data_set,
                             size_t number, int *is_equal) {
    static char path[JUDGE_MAX_PATH];
    const char check = of->checks[(of->has_rows ? data_set * of->outputs : 0) + number];
    judge_file expected, bound, accept, actual;
    int verdict = JUDGE_PASS;
    memset(&bound, 0, sizeof bound), memset(&accept, 0, sizeof accept), memset(&actual, 0, sizeof actual);
    memset(&expected, 0, sizeof expected);
    if (!judge_path(path, corpus, of, data_set, "output", number, "pb") || !judge_read(path, &expected)) verdict = -1;
    if (verdict >= 0 && check == 'b' &&
        (!judge_path(path, corpus, of, data_set, "bound", number, "pb") || !judge_read(path, &bound)))
        verdict = -1;
    if (verdict >= 0 && check == 'i' &&
        (!judge_path(path, corpus, of, data_set, "accept", number, "pb") || !judge_read(path, &accept)))
        verdict = -1;
    if (verdict >= 0 && !judge_fits(&expected.tensor, judge_or_null(&bound), judge_or_null(&accept))) verdict = -1;
    if (verdict < 0) judge_refuse("%s is not a file of the corpus, or does not fit the expected output.", path);
    else {
        const char *problem = NULL;
        if (!judge_find(path, candidates, of, data_set, number)) problem = "absent";
        else if ((problem = judge_read_candidate(path, &expected.tensor, &actual)) != NULL) verdict = JUDGE_FAIL;
        else if (!judge_has_type_and_shape(&actual.tensor, &expected.tensor)) problem = "wrong type or shape";
        if (problem) verdict = JUDGE_FAIL;
        else {
            const size_t wrong = judge_count_wrong(&expected.tensor, judge_or_null(&bound), judge_or_null(&accept),
                                                   &actual.tensor);
            const size_t size = expected.tensor.elements * expected.tensor.width;
            if (size && memcmp(expected.tensor.data, actual.tensor.data, size)) *is_equal = 0;
            if (wrong) {
                verdict = JUDGE_FAIL;
                judge_print_fail(of, data_set, number);
                judge_print_wrong(&expected.tensor, judge_or_null(&bound), judge_or_null(&accept), &actual.tensor,
                                  wrong);
            }
        }
        if (problem) {
            judge_print_fail(of, data_set, number);
            puts(problem);
        }
    }
    judge_close(&expected), judge_close(&bound), judge_close(&accept), judge_close(&actual);
    return verdict;
}

/* Judge a case and print its outputs that fail, and the undecided outputs if `lists_undecided`. Returns a verdict, or -1. */
static int judge_candidate(const char *corpus, const char *candidates, const judge_case *of, int lists_undecided) {
    static char path[JUDGE_MAX_PATH];
    unsigned long data_set;
    size_t number;
    int verdict = JUDGE_PASS, is_missing = 1;
    for (data_set = 0; is_missing && data_set < of->data_sets; ++data_set)
        for (number = 0; is_missing && number < of->outputs + 1; ++number)
            is_missing = !judge_find(path, candidates, of, data_set, number);
    if (is_missing) return judge_is_complete(corpus, of) ? JUDGE_MISSING : -1;
    for (data_set = 0; data_set < of->data_sets; ++data_set) {
        int is_equal = 1, worst = JUDGE_PASS;
        for (number = 0; number < of->outputs; ++number) {
            const int found = judge_case_output(corpus, candidates, of, data_set, number, &is_equal);
            if (found < 0) return -1;
            if (found) worst = found;
        }
        if (judge_find(path, candidates, of, data_set, of->outputs)) {
            worst = JUDGE_FAIL;
            judge_print_fail(of, data_set, of->outputs);
            puts(strcmp(of->kind, "invalid") ? "more outputs than expected" : "an output of an invalid model");
        }
        for (number = 0; worst == JUDGE_PASS && !is_equal && number < of->outputs; ++number)
            if (of->one_computation[number]) {
                verdict = verdict == JUDGE_PASS ? JUDGE_UNDECIDED : verdict;
                if (!lists_undecided) continue;
                printf("undecided %s/%s/test_data_set_%lu/output_%lu\n", of->kind, of->name, data_set,
                       (unsigned long)number);
            }
        if (worst == JUDGE_FAIL) verdict = strcmp(of->level, "silent") ? JUDGE_FAIL : JUDGE_RECORDED;
    }
    return verdict;
}

/* Print how many folders of candidates are not cases of the corpus, with the first name. */
static void judge_note_unknown(const char *corpus, const char *candidates) {
#ifdef JUDGE_POSIX
    static const char *const folders[] = {"", "node", "pass", "invalid"};
    static char path[JUDGE_MAX_PATH], first[JUDGE_MAX_NAME + 16];
    unsigned long count = 0;
    size_t i;
    for (i = 0; i < sizeof folders / sizeof *folders; ++i) {
        const int size = snprintf(path, sizeof path, "%s/%s", candidates, folders[i]);
        DIR *const folder = size > 0 && size < JUDGE_MAX_PATH ? opendir(path) : NULL;
        const struct dirent *entry;
        while (folder && (entry = readdir(folder)) != NULL) {
            const char *const name = entry->d_name;
            const int is_kind = !strcmp(name, "node") || !strcmp(name, "pass") || !strcmp(name, "invalid");
            const int length = snprintf(path, sizeof path, "%s/%s/%s", corpus, folders[i], name);
            struct stat status;
            if (*name == '.' || (!i && is_kind)) continue;
            if (i && length > 0 && length < JUDGE_MAX_PATH && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
                continue;
            if (!count++) snprintf(first, sizeof first, "%s%s%s", folders[i], i ? "/" : "", name);
        }
        if (folder) closedir(folder);
    }
    for (i = 0; first[i]; ++i) /* the name is of others: nothing in it may control a terminal */
        if (first[i] < ' ' || first[i] > '~') first[i] = '?';
    if (count)
        printf("note: %lu entries of the folder of candidates are not cases of the corpus, such as %s. A case has the"
               " same place in both folders, such as node/test_adam.\n", count, first);
#else
    (void)corpus, (void)candidates;
#endif
}

static int judge_all(const char *corpus, const char *candidates, int lists_undecided, unsigned long min_cases) {
    static const char *const verdicts[JUDGE_VERDICTS] = {"pass", "fail", "undecided", "missing", "recorded"};
    static char path[JUDGE_MAX_PATH], line[JUDGE_MAX_LINE];
    static judge_case found;
    unsigned long counts[JUDGE_VERDICTS] = {0, 0, 0, 0, 0}, cases = 0, announced = 0, judged;
    unsigned long weaker = 0;
    int i, verdict = 0, is_first = 1, is_case = 1, has_index = 1;
    int size = snprintf(path, sizeof path, "%s/index.csv", corpus);
    FILE *list = size > 0 && size < JUDGE_MAX_PATH ? judge_open(path) : NULL;
    if (!list) {
        has_index = 0;
        size = snprintf(path, sizeof path, "%s/manifest.json", corpus);
        list = size > 0 && size < JUDGE_MAX_PATH ? judge_open(path) : NULL;
    }
#ifdef JUDGE_POSIX
    struct stat status;
    if (list && !(stat(candidates, &status) == 0 && S_ISDIR(status.st_mode))) {
        fclose(list);
        return judge_refuse("%s is not a folder. Name the folder with the outputs of your program.", candidates);
    }
#endif
    if (!list)
        return judge_refuse("%s is not a corpus: it has neither index.csv nor manifest.json. Name a folder that"
                            " `onnx-conformance export` wrote.", corpus);
    while (verdict >= 0 && fgets(line, sizeof line, list)) {
        if (!strchr(line, '\n')) verdict = -1;
        else if (!has_index) verdict = is_case = judge_read_level(corpus, line, &found);
        else if (is_first) verdict = strncmp(line, judge_columns, strlen(judge_columns)) ? -1 : 0;
        else if (!judge_read_case(line, &found) || (cases && found.cases != announced)) verdict = -1;
        if (verdict >= 0 && is_case && !(has_index && is_first)) {
            ++cases;
            announced = has_index ? found.cases : announced;
            verdict = judge_candidate(corpus, candidates, &found, lists_undecided);
            if (verdict >= 0) ++counts[verdict];
            weaker += verdict == JUDGE_FAIL && !strcmp(found.level, "should");
        }
        if (!has_index && judge_begins_files(line)) ++announced;
        is_first = 0;
    }
    if (ferror(list) || is_first) verdict = -1;
    fclose(list);
    if (verdict < 0) return judge_refuse("%s cannot be used: the corpus is damaged or incomplete.", corpus);
    if (!cases || cases != announced) {
        fprintf(stderr, "%lu of %lu cases are listed. ", cases, announced);
        return judge_refuse("%s cannot be used: the corpus is truncated.", corpus);
    }
    if (!has_index)
        printf("note: %s has no index.csv, so undecided cases count as passed. `onnx-conformance export` writes it.\n",
               corpus);
    judge_note_unknown(corpus, candidates);
    for (i = 0; i < JUDGE_VERDICTS; ++i) printf("%s: %lu\n", verdicts[i], counts[i]);
    if (weaker)
        printf("note: %lu of the failures have the level should. They fail here, and `onnx-conformance run` counts them"
               " with --fail-level should only.\n", weaker);
    judged = cases - counts[JUDGE_MISSING];
    if (judged < min_cases) {
        fprintf(stderr, "%lu cases have an output, fewer than --min-cases %lu. ", judged, min_cases);
        return judge_refuse("Correct the outputs in %s, or the number.", candidates);
    }
    return counts[JUDGE_FAIL] || !(counts[JUDGE_PASS] + counts[JUDGE_UNDECIDED]);
}

static int judge_folder(int count, char **words) {
    unsigned long min_cases = 0;
    int i, lists_undecided = 0;
    for (i = 4; i < count; ++i) {
        const char *number = i + 1 < count ? words[i + 1] : "";
        if (!strcmp(words[i], "--undecided") && !lists_undecided) lists_undecided = 1;
        else if (!strcmp(words[i], "--min-cases") && !min_cases &&
                 judge_read_number(&number, JUDGE_MAX_CASES, &min_cases) && !*number)
            ++i;
        else return judge_refuse("The option %s is unknown, is given twice, or has a wrong value; options go last.", words[i]);
    }
    return judge_all(words[2], words[3], lists_undecided, min_cases);
}

int main(int count, char **words) {
    if (count >= 4 && !strcmp(words[1], "--corpus")) return judge_folder(count, words);
    if (count >= 3 && count % 2 && words[1][0] != '-') return judge_one(count, words);
    return judge_refuse("usage: %s", "judge EXPECTED ACTUAL [--bound FILE] [--accept FILE]\n"
                                     "       judge --corpus CORPUS CANDIDATES [--undecided] [--min-cases N]");
}

#endif
