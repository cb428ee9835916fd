/* Judge batches of inputs and damaged copies of them; fuzz_judge.py compiles this file and writes the batches. */

#define main judge_main
#include "judge.c"
#undef main

static uint64_t state;

static size_t draw(size_t limit) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (size_t)(state % limit);
}

/* Return a damaged copy in memory of exactly its size: cut, with other bits, or with other or repeated bytes inside. */
static unsigned char *damaged(const unsigned char *bytes, size_t *size, int is_damaged) {
    size_t count = is_damaged ? 1 + draw(3) : 0, length = *size, i;
    unsigned char *work = (unsigned char *)malloc(length + 16 * 3 + 1), *exact;
    memcpy(work, bytes, length);
    while (count-- > 0) {
        const size_t place = draw(length + 1), more = 1 + draw(15), kind = draw(6);
        if (kind == 0) length = place;
        else if (kind <= 2 && place < length) work[place] ^= (unsigned char)(1 << draw(8));
        else if (kind == 3 && place < length) work[place] = (unsigned char)(draw(2) ? 255 : draw(256));
        else {
            memmove(work + place + more, work + place, length - place);
            for (i = 0; i < more; ++i)
                work[place + i] = (unsigned char)(kind == 4 ? (i + 1 < more ? 255 : 127) : draw(256));
            length += more;
        }
    }
    exact = (unsigned char *)malloc(length ? length : 1);
    memcpy(exact, work, length);
    free(work);
    *size = length;
    return exact;
}

/* Judge four files, which follow each other; a size of -1 is no file. Returns -3 if the expected output cannot be used,
 * -2 if bound or indices do not fit, -1 if the actual output fails as a whole, else the number of wrong elements. */
static long judge_files(const unsigned char *bytes, const int64_t *sizes, int is_damaged) {
    judge_tensor tensors[4];
    unsigned char *files[4] = {NULL, NULL, NULL, NULL};
    int is_read[4] = {0, 0, 0, 0};
    long result;
    size_t i;
    memset(tensors, 0, sizeof tensors);
    for (i = 0; i < 4; ++i) {
        size_t size = (size_t)sizes[i];
        if (sizes[i] < 0) continue;
        files[i] = damaged(bytes, &size, is_damaged && draw(2));
        bytes += sizes[i];
        is_read[i] = judge_parse(&tensors[i], files[i], size);
    }
    {
        const judge_tensor *bound = sizes[1] < 0 ? NULL : &tensors[1], *accept = sizes[2] < 0 ? NULL : &tensors[2];
        if (!is_read[0]) result = -3;
        else if ((bound && !is_read[1]) || (accept && !is_read[2]) || !judge_fits(&tensors[0], bound, accept))
            result = -2;
        else if (!is_read[3] || !judge_has_type_and_shape(&tensors[3], &tensors[0])) result = -1;
        else result = (long)judge_count_wrong(&tensors[0], bound, accept, &tensors[3]);
    }
    for (i = 0; i < 4; ++i) {
        judge_free(&tensors[i]);
        free(files[i]);
    }
    return result;
}

static void read_line(void) {
    static const char line[] = "test_1,node,must,2,exact bound | index exact,0 1,1,Adam,adam.x_new,Title";
    static judge_case found;
    size_t size = sizeof line;
    char *text = (char *)damaged((const unsigned char *)line, &size, 1);
    if (size && !text[size - 1] && judge_read_case(text, &found) &&
        (found.outputs > JUDGE_MAX_OUTPUTS || strpbrk(found.name, "./")))
        abort();
    free(text);
}

int main(int count, char **words) {
    FILE *file = fopen(words[1], "rb");
    const unsigned long rounds = strtoul(words[2], NULL, 10);
    static unsigned char bytes[1 << 20];
    int64_t head[6];
    unsigned long inputs = 0, i;
    (void)count;
    while (file && fread(head, sizeof head, 1, file) == 1) {
        if (fread(bytes, 1, (size_t)head[5], file) != (size_t)head[5]) return 3;
        state = (uint64_t)head[0] * 2 + 1;
        if (judge_files(bytes, head + 1, 0) != head[0] >> 32) {
            fprintf(stderr, "input %lu has %ld wrong elements\n", inputs, judge_files(bytes, head + 1, 0));
            return 4;
        }
        for (i = 0; i < rounds; ++i) judge_files(bytes, head + 1, 1), read_line();
        inputs += 1 + rounds;
    }
    printf("%lu\n", inputs);
    return 0;
}
