/* Judges one output by the rules of docs/how-to/judge-without-python.md. Needs C99, libc and libm alone.
 *
 * Usage: judge EXPECTED ACTUAL [--bound FILE] [--accept FILE]
 *
 * All files are TensorProto files. The program prints "pass", or "fail" with the number of wrong elements.
 * Exit status: 0 if the output passes, 1 if it fails, 2 if a file of the corpus or an option cannot be used.
 * An actual output that cannot be read fails. The program trusts no file: sizes are bounded and checked.
 */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if CHAR_BIT != 8
#error "the judge needs bytes of 8 bits"
#endif

enum { MAX_RANK = 32, MAX_FILE_BYTES = 1 << 28 };
enum { FLOAT = 1, INT64 = 7, BOOL = 9, FLOAT16 = 10, DOUBLE = 11, BFLOAT16 = 16 };

typedef struct {
    uint64_t dims[MAX_RANK];
    size_t rank, elements, width;
    uint64_t type;
    unsigned char *file;
    const unsigned char *data;
} Tensor;

/* Bytes of an element by its number in TensorProto.DataType; 0 if the corpus does not use the type. */
static size_t width_of(uint64_t type) {
    static const unsigned char widths[17] = {0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 0, 0, 2};
    return type < 17 ? widths[type] : 0;
}

static int read_varint(const unsigned char **at, const unsigned char *end, uint64_t *value) {
    unsigned shift = 0;
    for (*value = 0; *at < end && shift < 64; shift += 7) {
        const unsigned char byte = *(*at)++;
        if (shift == 63 && byte > 1) return 0;
        *value |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128)) return 1;
    }
    return 0;
}

static int add_dim(Tensor *tensor, uint64_t dim) {
    if (tensor->rank == MAX_RANK) return 0;
    tensor->dims[tensor->rank++] = dim;
    return 1;
}

/* Read the fields of a TensorProto: dims (1), data_type (2) and raw_data (9); skip the others. */
static int parse(Tensor *tensor, size_t size) {
    const unsigned char *at = tensor->file, *const end = at + size;
    size_t bytes = 0, i;
    while (at < end) {
        uint64_t key, value;
        if (!read_varint(&at, end, &key)) return 0;
        if ((key & 7) == 0) {
            if (!read_varint(&at, end, &value)) return 0;
            if (key >> 3 == 1 && !add_dim(tensor, value)) return 0;
            if (key >> 3 == 2) tensor->type = value;
            continue;
        }
        if ((key & 7) == 2) {
            if (!read_varint(&at, end, &value)) return 0;
        } else if ((key & 7) == 1) value = 8;
        else if ((key & 7) == 5) value = 4;
        else return 0;
        if (value > (uint64_t)(end - at)) return 0;
        if (key == (1 << 3 | 2)) {
            const unsigned char *const stop = at + (size_t)value;
            uint64_t dim;
            while (at < stop)
                if (!read_varint(&at, stop, &dim) || !add_dim(tensor, dim)) return 0;
            continue;
        }
        if (key == (9 << 3 | 2)) {
            tensor->data = at;
            bytes = (size_t)value;
        }
        at += (size_t)value;
    }
    tensor->width = width_of(tensor->type);
    if (!tensor->width) return 0;
    tensor->elements = 1;
    for (i = 0; i < tensor->rank; ++i)
        if (tensor->dims[i] == 0) tensor->elements = 0;
    for (i = 0; tensor->elements && i < tensor->rank; ++i) {
        if (tensor->dims[i] > MAX_FILE_BYTES / tensor->elements) return 0;
        tensor->elements *= (size_t)tensor->dims[i];
    }
    return tensor->elements <= MAX_FILE_BYTES && bytes == tensor->elements * tensor->width;
}

static int read_tensor(const char *path, Tensor *tensor) {
    FILE *file = fopen(path, "rb");
    size_t size = 0, room = 4096, got;
    memset(tensor, 0, sizeof *tensor);
    if (!file) return 0;
    tensor->file = malloc(room);
    while (tensor->file && (got = fread(tensor->file + size, 1, room - size, file)) > 0) {
        size += got;
        if (size == room) {
            unsigned char *larger = room < MAX_FILE_BYTES ? realloc(tensor->file, room *= 2) : NULL;
            if (!larger) break;
            tensor->file = larger;
        }
    }
    got = tensor->file && feof(file) && !ferror(file);
    fclose(file);
    return got && parse(tensor, size);
}

static uint64_t bits_of(const Tensor *tensor, size_t index) {
    uint64_t bits = 0;
    size_t i;
    for (i = tensor->width; i-- > 0;) bits = bits << 8 | tensor->data[index * tensor->width + i];
    return bits;
}

static int is_floating(const Tensor *tensor) {
    return tensor->type == FLOAT || tensor->type == DOUBLE || tensor->type == FLOAT16 || tensor->type == BFLOAT16;
}

/* A floating-point element, converted to double without rounding. */
static double number(const Tensor *tensor, size_t index) {
    const uint64_t bits = bits_of(tensor, index);
    if (tensor->type == DOUBLE) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (tensor->type == FLOAT16) {
        const int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
        const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                            : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                           : ldexp(fraction, -24);
        return bits >> 15 ? -size : size;
    } else {
        const uint32_t wide = (uint32_t)(tensor->type == BFLOAT16 ? bits << 16 : bits);
        float value;
        memcpy(&value, &wide, sizeof value);
        return value;
    }
}

static int is_right(const Tensor *expected, const Tensor *bound, const Tensor *accept, const Tensor *actual, size_t i) {
    if (accept) {
        const uint64_t choices = accept->dims[accept->rank - 1], index = bits_of(actual, i);
        return index < choices && accept->data[i * (size_t)choices + (size_t)index];
    }
    if (!is_floating(expected)) return bits_of(expected, i) == bits_of(actual, i);
    {
        const double wanted = number(expected, i), got = number(actual, i);
        if (bound && isinf(number(bound, i))) return 1;
        if (isnan(wanted) || isnan(got)) return isnan(wanted) && isnan(got);
        if (!bound) return got == wanted && !signbit(got) == !signbit(wanted);
        return got == wanted || fabs(got - wanted) <= number(bound, i);
    }
}

static int has_shape(const Tensor *tensor, const Tensor *of, size_t more) {
    return tensor->rank == of->rank + more && !memcmp(tensor->dims, of->dims, of->rank * sizeof *of->dims);
}

static int refuse(const char *problem) {
    fprintf(stderr, "%s\n", problem);
    return 2;
}

int main(int count, char **words) {
    static Tensor expected, actual, bound, accept;
    int has_bound = 0, has_accept = 0, i, is_readable, status;
    size_t wrong = 0, element;
    if (count < 3 || count % 2 == 0) return refuse("usage: judge EXPECTED ACTUAL [--bound FILE] [--accept FILE]");
    status = read_tensor(words[1], &expected) ? 0 : refuse("The expected output is not a tensor of the corpus.");
    for (i = 3; !status && i < count; i += 2) {
        if (!has_bound && !strcmp(words[i], "--bound")) {
            has_bound = 1;
            if (!read_tensor(words[i + 1], &bound) || bound.type != DOUBLE || !has_shape(&bound, &expected, 0) ||
                !is_floating(&expected))
                status = refuse("The bound does not fit the expected output.");
        } else if (!has_accept && !strcmp(words[i], "--accept")) {
            has_accept = 1;
            if (!read_tensor(words[i + 1], &accept) || accept.type != BOOL || !has_shape(&accept, &expected, 1) ||
                expected.type != INT64)
                status = refuse("The acceptable indices do not fit the expected output.");
        } else status = refuse("An option is unknown or is given twice.");
    }
    if (!status) {
        is_readable = read_tensor(words[2], &actual);
        if (!is_readable || actual.type != expected.type || !has_shape(&actual, &expected, 0)) {
            status = 1;
            puts(is_readable ? "fail: wrong type or shape" : "fail: not a readable tensor");
        } else {
            for (element = 0; element < expected.elements; ++element)
                wrong += !is_right(&expected, has_bound ? &bound : NULL, has_accept ? &accept : NULL, &actual, element);
            status = wrong != 0;
            if (wrong) printf("fail: %lu wrong of %lu elements\n", (unsigned long)wrong, (unsigned long)expected.elements);
            else puts("pass");
        }
    }
    free(expected.file), free(actual.file), free(bound.file), free(accept.file);
    return status;
}
