/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The media model: units, bandwidth, size, spread, jitter; commands that end
 * before their time; limits that make no sense.
 */
#include <glib.h>
#include <string.h>

#include "media.h"
#include "suite.h"

#define KIB     1024
#define SECOND  1000000000ll

static CintMediaParams custom(uint64_t latency, uint64_t units)
{
    return (CintMediaParams) {
        .profile = CINT_MEDIA_CUSTOM,
        .read_latency_ns = latency,
        .write_latency_ns = 2 * latency,
        .units = units,
        .seed = 1,
    };
}

static CintMedia *start(CintMediaParams params)
{
    CintMedia *media = g_new(CintMedia, 1);

    g_assert_null(cint_media_conflict(&params));
    cint_media_init(media, &params);
    return media;
}

static int64_t read_at(CintMedia *media, int64_t now, uint64_t bytes)
{
    CintMediaClaim claim;

    return cint_media_reserve(media, now, false, bytes, &claim);
}

static int64_t write_at(CintMedia *media, int64_t now, uint64_t bytes)
{
    CintMediaClaim claim;

    return cint_media_reserve(media, now, true, bytes, &claim);
}

/* The backend's own timing: done at once, whatever the other parameters. */
static void test_none(void)
{
    CintMediaParams params = custom(1000, 1);
    CintMedia *media;
    CintMediaClaim claim = {        /* of an earlier use */
        .service = { .start_ns = 0, .end_ns = 100 },
    };

    params.profile = CINT_MEDIA_NONE;
    media = start(params);
    g_assert_cmpint(cint_media_reserve(media, 5, false, 4 * KIB, &claim), ==,
                    5);
    g_assert_cmpint(claim.service.end_ns, ==, 0);
    g_assert_cmpint(read_at(media, 5, 4 * KIB), ==, 5);
    cint_media_refund(media, 5, &claim);
    g_assert_cmpint(read_at(media, 6, 4 * KIB), ==, 6);
    g_free(media);
}

static void test_units(void)
{
    CintMedia *media = start(custom(1000, 2));

    g_assert_cmpint(read_at(media, 0, KIB), ==, 1000);
    g_assert_cmpint(read_at(media, 100, KIB), ==, 1100);
    g_assert_cmpint(read_at(media, 200, KIB), ==, 2000);
    g_assert_cmpint(write_at(media, 300, KIB), ==, 3100);
    g_assert_cmpint(read_at(media, 9000, KIB), ==, 10000);
    g_free(media);
}

static void test_any_number_of_units(void)
{
    CintMedia *media = start(custom(1000, 0));
    CintMediaClaim claim;
    unsigned i;

    for (i = 0; i < 3000; i++) {
        g_assert_cmpint(cint_media_reserve(media, 7, false, KIB, &claim), ==,
                        1007);
        if (i % 2) {
            cint_media_refund(media, 7, &claim);
        }
    }
    g_free(media);
}

/* As many as interface.md says, and no more are at work at once. */
static void test_most_units(void)
{
    CintMedia *media = start(custom(1000, 1024));
    unsigned i;

    g_assert_cmpuint(CINT_MEDIA_MAX_UNITS, ==, 1024);
    for (i = 0; i < 1024; i++) {
        g_assert_cmpint(read_at(media, 0, KIB), ==, 1000);
    }
    g_assert_cmpint(read_at(media, 0, KIB), ==, 2000);
    g_free(media);
}

/* A command of before there were units gives none of them anything back. */
static void test_refund_of_no_unit(void)
{
    CintMediaParams params = custom(1000, 0);
    CintMedia *media = start(params);
    CintMediaClaim claim;

    cint_media_reserve(media, 0, false, KIB, &claim);
    params.units = 1;
    cint_media_configure(media, &params);
    g_assert_cmpint(read_at(media, 0, KIB), ==, 1000);
    cint_media_refund(media, 0, &claim);
    g_assert_cmpint(read_at(media, 0, KIB), ==, 2000);
    g_free(media);
}

static void test_size(void)
{
    CintMediaParams params = custom(1000, 0);
    CintMedia *media;

    params.read_per_kib_ns = 10;
    params.write_per_kib_ns = 30;
    media = start(params);
    g_assert_cmpint(read_at(media, 0, 128 * KIB), ==, 1000 + 1280);
    g_assert_cmpint(read_at(media, 0, 512), ==, 1000 + 5);
    g_assert_cmpint(write_at(media, 0, 4 * KIB), ==, 2000 + 120);
    g_assert_cmpint(write_at(media, 0, 0), ==, 2000);
    g_free(media);
}

/* Each direction has its own; the later of medium and transfer counts. */
static void test_bandwidth(void)
{
    CintMediaParams params = custom(1000, 0);
    CintMedia *media;

    params.read_bandwidth = 4096 * 1000000ull;      /* 4 KiB in 1 us */
    media = start(params);
    g_assert_cmpint(read_at(media, 0, 4 * KIB), ==, 1000);
    g_assert_cmpint(read_at(media, 0, 4 * KIB), ==, 2000);
    g_assert_cmpint(read_at(media, 0, 8 * KIB), ==, 4000);
    g_assert_cmpint(write_at(media, 0, 4 * KIB), ==, 2000);
    g_assert_cmpint(read_at(media, 3500, 4 * KIB), ==, 5000);
    g_free(media);
}

static void test_jitter(void)
{
    CintMediaParams params = custom(1000, 0);
    CintMedia *one, *two;
    int64_t t, least = INT64_MAX, most = 0;
    unsigned i;

    params.jitter_ns = 300;
    one = start(params);
    two = start(params);
    for (i = 0; i < 10000; i++) {
        t = read_at(one, 0, KIB);
        g_assert_cmpint(t, ==, read_at(two, 0, KIB));
        least = MIN(least, t);
        most = MAX(most, t);
    }
    g_assert_cmpint(least, ==, 700);
    g_assert_cmpint(most, ==, 1300);
    /* Another seed begins another sequence; the same one goes on. */
    cint_media_configure(one, &params);
    g_assert_cmpint(read_at(one, 0, KIB), ==, read_at(two, 0, KIB));
    params.seed = 2;
    cint_media_configure(one, &params);
    for (i = 0; i < 64 && read_at(one, 0, KIB) == read_at(two, 0, KIB); i++) {
        g_assert_cmpuint(i, <, 63);
    }
    g_free(one);
    g_free(two);
}

/* SplitMix64 as it was published, from the seed 1234567 on. */
static const uint64_t published[] = {
    6457827717110365317ull, 3203168211198807973ull, 9817491932198370423ull,
    4593380528125082431ull, 16408922859458223821ull,
};

/* Jitter and spread are drawn from it, one after the other. */
static void test_generator(void)
{
    CintMediaParams params = custom(SECOND, 0);
    unsigned i;

    params.seed = 1234567;
    for (i = 0; i < 4; i++) {
        bool by_burst = i % 2;
        uint64_t range = SECOND - (i > 1);
        CintMedia *media;
        unsigned n;

        params.jitter_ns = by_burst ? 0 : range;
        params.spread_ns = by_burst ? range : 0;
        media = start(params);
        for (n = 0; n < G_N_ELEMENTS(published); n++) {
            g_assert_cmpint(read_at(media, n, 0), ==, n + SECOND - range +
                            published[n] % (2 * range + 1));
        }
        g_free(media);
    }
}

/* Whatever the memory was that a medium is in. */
static void test_init(void)
{
    CintMediaParams params = custom(1000, 2);
    CintMedia one, two;

    memset(&one, 0, sizeof(one));
    memset(&two, 0x5a, sizeof(two));
    params.spread_ns = 500;
    cint_media_init(&one, &params);
    cint_media_init(&two, &params);
    g_assert_cmpint(memcmp(&one, &two, sizeof(one)), ==, 0);
    /* The burst that comes first is one, also at the beginning of time. */
    cint_media_reserve(&two, 0, false, 0, &(CintMediaClaim) { .unit = 0 });
    g_assert_cmpint(memcmp(&one.random, &two.random, sizeof(one.random)), !=,
                    0);
}

/* A command of one ns takes it, and one that is early by its jitter none. */
static void test_shortest(void)
{
    CintMedia *media = start(custom(1, 0));

    g_assert_cmpint(read_at(media, 7, 0), ==, 8);
    g_free(media);
}

/*
 * A burst's commands take the same time, the next burst's another; with the
 * jitter each has its own. 10,000 bursts come to both ends of the spread.
 */
static void test_spread(void)
{
    CintMediaParams params = custom(1000, 0);
    CintMedia *media;
    int64_t now, first, time, last = 0, least = INT64_MAX, most = 0;
    unsigned i, changed = 0;

    params.spread_ns = 300;
    media = start(params);
    for (now = 0; now < 100000; now += 10) {
        first = read_at(media, now, KIB) - now;
        for (i = 0; i < 4; i++) {
            g_assert_cmpint(read_at(media, now, KIB) - now, ==, first);
            g_assert_cmpint(write_at(media, now, KIB) - now, ==, first + 1000);
        }
        changed += first != last;
        last = first;
        least = MIN(least, first);
        most = MAX(most, first);
    }
    g_assert_cmpint(least, ==, 700);
    g_assert_cmpint(most, ==, 1300);
    g_assert_cmpuint(changed, >, 9900);

    /* Other parameters hold for the next command, of whatever burst. */
    params.spread_ns = 0;
    cint_media_configure(media, &params);
    g_assert_cmpint(read_at(media, now - 10, KIB), ==, now - 10 + 1000);

    params.spread_ns = 300;
    params.jitter_ns = 50;
    cint_media_configure(media, &params);
    first = read_at(media, now, KIB);
    for (i = 0, changed = 0; i < 64; i++) {
        time = read_at(media, now, KIB);
        g_assert_cmpint(ABS(time - first), <=, 100);
        changed += time != first;
    }
    g_assert_cmpuint(changed, >, 32);
    g_free(media);
}

/* Jitter above the latency: never before it was fetched, nor overtakes. */
static void test_never_early(void)
{
    CintMediaParams params = custom(100, 1);
    CintMedia *media;
    int64_t now, last = 0, t;

    params.jitter_ns = 5000;
    media = start(params);
    for (now = 0; now < 100000; now += 100) {
        t = read_at(media, now, KIB);
        g_assert_cmpint(t, >=, now);
        g_assert_cmpint(t, >=, last);
        last = t;
    }
    g_free(media);
}

/* The profiles' times of one 4 KiB and one 128 KiB read, and of a write. */
static void test_profiles(void)
{
    static const struct {
        CintMediaProfile profile;
        uint64_t units;
        int64_t read_4k, read_128k, write_4k, write_128k;
        uint64_t most_jitter, most_spread;
    } want[] = {
        { CINT_MEDIA_OPTANE, 8, 7000, 58181, 7000, 64000, 0, 2252 },
        { CINT_MEDIA_P3700, 40, 76000, 76000, 76000, 76000, 48000, 0 },
        { CINT_MEDIA_GEN2, 8, 3500, 3500, 3500, 3500, 0, 0 },
        { CINT_MEDIA_SATA, 8, 100000, 100000, 100000, 100000, 0, 0 },
        { CINT_MEDIA_DRAM, 1, 2900, 2900, 2900, 2900, 0, 0 },
        { CINT_MEDIA_ZSSD, 64, 12000, 40960, 4000, 61040, 0, 0 },
        { CINT_MEDIA_RAM, 0, 0, 0, 0, 0, 0, 0 },
        { CINT_MEDIA_SSD80, 64, 80000, 80000, 80000, 80000, 0, 0 },
        { CINT_MEDIA_ARRAY, 14, 260000, 260000, 260000, 260000, 0, 0 },
    };
    unsigned i;

    for (i = 0; i < G_N_ELEMENTS(want); i++) {
        CintMediaParams params = { .profile = want[i].profile, .seed = 3 };
        CintMedia *media;
        int64_t t;

        cint_media_profile(&params);
        g_assert_cmpuint(params.profile, ==, want[i].profile);
        g_assert_cmpuint(params.seed, ==, 3);
        g_assert_cmpuint(params.units, ==, want[i].units);
        g_assert_cmpuint(params.jitter_ns, ==, want[i].most_jitter);
        g_assert_cmpuint(params.spread_ns, ==, want[i].most_spread);
        params.jitter_ns = 0;
        params.spread_ns = 0;
        media = start(params);
        g_assert_cmpint(read_at(media, 0, 4 * KIB), ==, want[i].read_4k);
        t = 10 * SECOND;
        g_assert_cmpint(write_at(media, t, 4 * KIB) - t, ==, want[i].write_4k);
        t = 20 * SECOND;
        g_assert_cmpint(read_at(media, t, 128 * KIB) - t, ==,
                        want[i].read_128k);
        t = 30 * SECOND;
        g_assert_cmpint(write_at(media, t, 128 * KIB) - t, ==,
                        want[i].write_128k);
        g_free(media);
    }
}

/* ---- Commands that end before their time ---- */

/* At the instant of its reservation a refund undoes it: nobody is later. */
static void test_refund_at_once(void)
{
    CintMediaParams params = custom(1000, 2);
    CintMedia *media, *other;
    CintMediaClaim claim;
    unsigned i;

    params.read_bandwidth = 4096 * 1000000ull;
    media = start(params);
    other = start(params);
    for (i = 0; i < 100; i++) {
        cint_media_reserve(media, 100 * i, false, 1024 * KIB, &claim);
        cint_media_refund(media, 100 * i, &claim);
        g_assert_cmpint(read_at(media, 100 * i, 4 * KIB), ==,
                        read_at(other, 100 * i, 4 * KIB));
    }
    g_free(media);
    g_free(other);
}

/* Later on, what is left of its time. Those already under way keep theirs. */
static void test_refund_later(void)
{
    CintMedia *media = start(custom(1000, 1));
    CintMediaClaim first, second;

    g_assert_cmpint(cint_media_reserve(media, 0, false, KIB, &first), ==,
                    1000);
    g_assert_cmpint(cint_media_reserve(media, 0, false, KIB, &second), ==,
                    2000);
    cint_media_refund(media, 400, &first);
    g_assert_cmpint(read_at(media, 400, KIB), ==, 2400);
    /* A second time, and after its end, nothing is left. */
    cint_media_refund(media, 500, &first);
    cint_media_refund(media, 2000, &second);
    g_assert_cmpint(read_at(media, 2000, KIB), ==, 3400);
    g_free(media);
}

static void test_refund_transfer(void)
{
    CintMediaParams params = custom(0, 0);
    CintMedia *media;
    CintMediaClaim claim;

    params.write_bandwidth = 4096 * 1000000ull;
    media = start(params);
    g_assert_cmpint(cint_media_reserve(media, 0, true, 400 * KIB, &claim), ==,
                    100000);
    cint_media_refund(media, 30000, &claim);
    g_assert_cmpint(write_at(media, 30000, 4 * KIB), ==, 31000);
    g_free(media);
}

/*
 * Whatever was given back, and when: once all is, as in a reset of the
 * controller, the medium is idle.
 */
static void test_refund_all(void)
{
    CintMediaParams params = custom(1000, 2);
    CintMediaClaim claims[40];
    int64_t now = 0;
    CintMedia *media;
    unsigned i, round;

    params.read_bandwidth = 1000000000;
    params.write_bandwidth = 1000000000;
    media = start(params);
    for (round = 0; round < 200; round++) {
        for (i = 0; i < G_N_ELEMENTS(claims); i++) {
            now += g_test_rand_int_range(0, 300);
            cint_media_reserve(media, now, g_test_rand_bit(), KIB, &claims[i]);
            if (g_test_rand_bit()) {
                cint_media_refund(media, now,
                                  &claims[g_test_rand_int_range(0, i + 1)]);
            }
        }
        for (i = 0; i < G_N_ELEMENTS(claims); i++) {
            cint_media_refund(media, now, &claims[i]);
        }
        for (i = 0; i < params.units; i++) {
            cint_media_reserve(media, now, i, 1, &claims[i]);
            g_assert_cmpint(claims[i].service.start_ns, ==, now);
            g_assert_cmpint(claims[i].transfer.start_ns, ==, now);
        }
        for (i = 0; i < params.units; i++) {
            cint_media_refund(media, now, &claims[i]);
        }
    }
    g_free(media);
}

/* ---- Limits that make no sense ---- */

static void test_conflict(void)
{
    CintMediaParams params = custom(1000, 4);

    g_assert_null(cint_media_conflict(&params));
    params.read_bandwidth = 65536;
    params.write_bandwidth = 65536;
    g_assert_null(cint_media_conflict(&params));
    params.read_bandwidth--;
    g_assert_nonnull(strstr(cint_media_conflict(&params),
                            "media.read-bandwidth"));
    params.read_bandwidth = 0;
    params.write_bandwidth = 1;
    g_assert_nonnull(strstr(cint_media_conflict(&params),
                            "media.write-bandwidth"));
    g_assert_nonnull(strstr(cint_media_conflict(&params), "65536"));
}

/* However large, no command takes longer than that. */
#define MOST_SECONDS    (1000 * SECOND)

/* The slowest of all media and more commands than fit a controller. */
static void test_no_overflow(void)
{
    CintMediaParams params = custom(10 * SECOND, 1);
    CintMedia *media;
    CintMediaClaim claim;
    int64_t now = SECOND * 86400 * 365 * 10, last = 0, t;
    unsigned i;

    params.read_per_kib_ns = 10 * SECOND;
    params.read_bandwidth = CINT_MEDIA_MIN_BANDWIDTH;
    media = start(params);
    g_assert_cmpint(read_at(media, 0, UINT64_MAX), ==,
                    MOST_SECONDS + 10 * SECOND);
    g_free(media);
    media = start(params);
    g_assert_cmpint(read_at(media, 0, 1ull << 30), ==,
                    MOST_SECONDS + 10 * SECOND);
    for (i = 0; i < 5000000; i++) {
        t = cint_media_reserve(media, now, false, UINT64_MAX >> i % 40,
                               &claim);
        g_assert_cmpint(t, >=, now);
        g_assert_cmpint(t, >=, last);
        last = t;
    }
    media->unit_ns[0] = INT64_MAX - 5;
    g_assert_cmpint(read_at(media, now, KIB), ==, INT64_MAX);
    g_free(media);
}

/* ---- Against a slow second model ---- */

#define MOST    4000

/*
 * Knows all commands of the past, and no busy-until times: a unit's, or a
 * channel's, is found by adding up its commands from the first on.
 */
typedef struct Past {
    int64_t fetched[MOST], took[MOST], transfer[MOST];
    unsigned unit[MOST];
    bool is_write[MOST];
    unsigned n;
} Past;

static int64_t unit_free(const Past *past, unsigned unit)
{
    int64_t t = 0;
    unsigned i;

    for (i = 0; i < past->n; i++) {
        if (past->unit[i] == unit) {
            t = MAX(t, past->fetched[i]) + past->took[i];
        }
    }
    return t;
}

static int64_t channel_free(const Past *past, bool is_write)
{
    int64_t t = 0;
    unsigned i;

    for (i = 0; i < past->n; i++) {
        if (past->is_write[i] == is_write) {
            t = MAX(t, past->fetched[i]) + past->transfer[i];
        }
    }
    return t;
}

static int64_t past_reserve(Past *past, const CintMediaParams *p, int64_t now,
                            bool is_write, uint64_t bytes)
{
    uint64_t per_kib = is_write ? p->write_per_kib_ns : p->read_per_kib_ns;
    uint64_t rate = is_write ? p->write_bandwidth : p->read_bandwidth;
    unsigned i = past->n, unit, best = 0;
    int64_t done;

    for (unit = 1; unit < p->units; unit++) {
        if (unit_free(past, unit) < unit_free(past, best)) {
            best = unit;
        }
    }
    g_assert_cmpuint(past->n, <, MOST);
    past->fetched[i] = now;
    past->unit[i] = best;
    past->is_write[i] = is_write;
    past->took[i] = (is_write ? p->write_latency_ns : p->read_latency_ns) +
                    bytes * per_kib / KIB;
    past->transfer[i] = rate ? bytes * SECOND / rate : 0;
    past->n++;
    done = unit_free(past, best);
    return rate ? MAX(done, channel_free(past, is_write)) : MAX(done, now);
}

static void test_random(void)
{
    static const uint64_t units[] = { 1, 3, 8 };
    Past *past = g_new(Past, 1);
    CintMediaParams params;
    CintMedia *media;
    CintMediaClaim claim;
    unsigned i, j;

    for (i = 0; i < G_N_ELEMENTS(units); i++) {
        int64_t now = 0;

        params = custom(5000, units[i]);
        params.read_per_kib_ns = 100;
        params.write_per_kib_ns = 333;
        params.read_bandwidth = 900000000;
        params.write_bandwidth = i == 1 ? 0 : 400000000;
        media = start(params);
        past->n = 0;
        for (j = 0; j < 600; j++) {
            bool is_write = g_test_rand_bit();
            uint64_t bytes = g_test_rand_int_range(0, 64 * KIB);

            now += g_test_rand_int_range(0, 12000);
            if (g_test_rand_int_range(0, 4) == 0) {
                /* One that fails at once, of which the past knows nothing. */
                cint_media_reserve(media, now, is_write, bytes, &claim);
                cint_media_refund(media, now, &claim);
            }
            g_assert_cmpint(cint_media_reserve(media, now, is_write, bytes,
                                               &claim), ==,
                            past_reserve(past, &params, now, is_write, bytes));
        }
        g_free(media);
    }
    g_free(past);
}

int main(int argc, char **argv)
{
    static const SuiteTest tests[] = {
        { "none", test_none },
        { "units", test_units },
        { "any-number-of-units", test_any_number_of_units },
        { "most-units", test_most_units },
        { "size", test_size },
        { "bandwidth", test_bandwidth },
        { "init", test_init },
        { "generator", test_generator },
        { "shortest", test_shortest },
        { "jitter", test_jitter },
        { "spread", test_spread },
        { "never-early", test_never_early },
        { "profiles", test_profiles },
        { "refund/at-once", test_refund_at_once },
        { "refund/later", test_refund_later },
        { "refund/transfer", test_refund_transfer },
        { "refund/of-no-unit", test_refund_of_no_unit },
        { "refund/all", test_refund_all },
        { "bandwidth-has-a-minimum", test_conflict },
        { "no-overflow", test_no_overflow },
        { "independent-model-agrees", test_random },
    };

    g_test_init(&argc, &argv, NULL);
    suite_add("/media", tests, G_N_ELEMENTS(tests));
    return g_test_run();
}
