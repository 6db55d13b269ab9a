/* Syncopate in C: the door for other languages. One library serves every version of them, as
 * nothing but numbers, addresses and functions passes through it. The C++ API is in
 * syncopate/syncopate.h, and says what each thing promises; docs/c_api.md says how it looks from
 * here.
 *
 * A function that can fail returns a syncopate_status. When it is not SYNCOPATE_OK,
 * syncopate_what_happened() and syncopate_what_to_do() say more, on the same thread, until its next
 * call. Whatever was to be returned through a pointer is then untouched.
 * A handle is used by one thread at a time. Free collectives and loops before their world. */
#ifndef SYNCOPATE_H
#define SYNCOPATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SYNCOPATE_API __attribute__((visibility("default")))

typedef enum syncopate_status {
  SYNCOPATE_OK = 0,
  SYNCOPATE_INVALID_ARGUMENT = 1,
  SYNCOPATE_MISMATCH = 2,
  SYNCOPATE_TIMEOUT = 3,
  SYNCOPATE_ENVIRONMENT = 4,
  SYNCOPATE_OUT_OF_MEMORY = 5,
  SYNCOPATE_CLOSED = 6,
  SYNCOPATE_RANK_LOST = 7,
  SYNCOPATE_MACHINE_LOST = 8,
  SYNCOPATE_INTERRUPTED = 9,
  SYNCOPATE_CALLBACK = 100, /* A function of the caller's returned other than 0. */
  SYNCOPATE_OTHER = 101     /* Not an error of Syncopate's: see the text. */
} syncopate_status;

SYNCOPATE_API const char* syncopate_what_happened(void);
SYNCOPATE_API const char* syncopate_what_to_do(void);
SYNCOPATE_API const char* syncopate_version(void);

/* Called about every 20 ms by a thread that waits. Where it returns 0, the wait ends with
 * SYNCOPATE_INTERRUPTED. Null: no wait ends so. */
SYNCOPATE_API void syncopate_set_interrupt(int (*go_on)(void));

/* ---- The world ---- */

typedef struct syncopate_world syncopate_world;

/* That which syncopate run, mpirun, srun or torchrun started, or a world of one rank. */
SYNCOPATE_API syncopate_status syncopate_world_from_environment(syncopate_world** world);
SYNCOPATE_API void syncopate_world_free(syncopate_world* world);

typedef struct syncopate_place {
  int32_t rank, size;
  int32_t local_rank, local_size; /* Among the ranks of this machine. */
  int32_t machine, machines;
  int32_t cores; /* That the ranks of this machine may use, together. */
} syncopate_place;
SYNCOPATE_API syncopate_status syncopate_world_place(const syncopate_world* world,
                                                     syncopate_place* place);
/* One byte for each rank of the world: 1 if it is known to have died. */
SYNCOPATE_API syncopate_status syncopate_world_dead(const syncopate_world* world, uint8_t* dead);
SYNCOPATE_API double syncopate_world_timeout(const syncopate_world* world);
SYNCOPATE_API syncopate_status syncopate_world_set_timeout(syncopate_world* world, double seconds);
SYNCOPATE_API syncopate_status syncopate_barrier(syncopate_world* world);
SYNCOPATE_API syncopate_status syncopate_broadcast(syncopate_world* world, void* data, size_t bytes,
                                                   int root);

/* ---- Collectives ---- */

typedef enum syncopate_type {
  SYNCOPATE_FLOAT32 = 0,
  SYNCOPATE_FLOAT64 = 1,
  SYNCOPATE_BFLOAT16 = 2,
  SYNCOPATE_FLOAT16 = 3
} syncopate_type;

typedef enum syncopate_scale {
  SYNCOPATE_SCALE_NONE = 0,
  SYNCOPATE_SCALE_RANKS = 1,
  SYNCOPATE_SCALE_CONTRIBUTORS = 2,
  SYNCOPATE_SCALE_WEIGHT = 3
} syncopate_scale;

typedef struct syncopate_receipt {
  uint64_t round;
  uint64_t staleness;
  uint64_t drops;
  double weight;
  double waited; /* In seconds. */
  int32_t waited_for;
  int32_t contributors; /* How many. */
  int32_t included;
  int32_t last;
} syncopate_receipt;

/* Sums over all ranks, of vectors of any length, in the caller's memory; scaled by none, ranks or
 * contributors. All ranks give the same lengths in the same order. */
typedef struct syncopate_sum syncopate_sum;
SYNCOPATE_API syncopate_status syncopate_sum_new(syncopate_world* world, syncopate_type type,
                                                 syncopate_scale scale, syncopate_sum** sum);
/* The receipt may be null. Its contributors are the fewest of any piece, so that a rank that is
 * lost on the way shows; its time of waiting is that of all pieces. */
SYNCOPATE_API syncopate_status syncopate_sum_run(syncopate_sum* sum, void* data, size_t elements,
                                                 syncopate_receipt* receipt);
SYNCOPATE_API void syncopate_sum_free(syncopate_sum* sum);

/* A partial allreduce. trigger: "all", "first", "majority", "majority:SEED", "count:K";
 * late: "carry", "drop", "drop-older-than:R"; grace: "off", "auto", "2ms". */
typedef struct syncopate_partial syncopate_partial;
typedef struct syncopate_partial_options {
  const char* trigger;
  const char* late;
  const char* grace;
  syncopate_scale scale;
  int32_t window;
} syncopate_partial_options;
SYNCOPATE_API syncopate_status syncopate_partial_new(syncopate_world* world, size_t elements,
                                                     syncopate_type type,
                                                     const syncopate_partial_options* options,
                                                     syncopate_partial** partial);
SYNCOPATE_API void syncopate_partial_free(syncopate_partial* partial);
SYNCOPATE_API syncopate_status syncopate_partial_slot(syncopate_partial* partial, void** slot);
/* Each sets `rounds` to how many rounds there are to read. */
SYNCOPATE_API syncopate_status syncopate_partial_exchange(syncopate_partial* partial, double weight,
                                                          uint64_t* rounds);
SYNCOPATE_API syncopate_status syncopate_partial_wait(syncopate_partial* partial, uint64_t* rounds);
SYNCOPATE_API syncopate_status syncopate_partial_start(syncopate_partial* partial, double weight);
SYNCOPATE_API syncopate_status syncopate_partial_start_empty(syncopate_partial* partial);
SYNCOPATE_API syncopate_status syncopate_partial_ready(syncopate_partial* partial, int* ready);
/* The oldest round that is not passed: its values, which are not to be written to, and its receipt.
 * `contributors`, unless null: a byte for each rank, 1 if its deposit is in the round. */
SYNCOPATE_API syncopate_status syncopate_partial_read(syncopate_partial* partial,
                                                      const void** values,
                                                      syncopate_receipt* receipt,
                                                      uint8_t* contributors);
/* Passes it: its memory may be used again. */
SYNCOPATE_API syncopate_status syncopate_partial_pass(syncopate_partial* partial);
SYNCOPATE_API syncopate_status syncopate_partial_stop(syncopate_partial* partial);
SYNCOPATE_API syncopate_status syncopate_partial_finished(syncopate_partial* partial,
                                                          int* finished);
SYNCOPATE_API syncopate_status syncopate_partial_leave(syncopate_partial* partial);

/* A group average. */
typedef struct syncopate_group syncopate_group;
typedef struct syncopate_group_options {
  int32_t group_size; /* 0: the square root of the ranks. */
  int32_t synchronize_every;
  int32_t rotate;
  int32_t wait_for_all; /* 0: the first of a group starts it. */
  const char* grace;
  int32_t keep_late; /* Whether late weights keep their steps, instead of being averaged in. */
  uint64_t seed;
} syncopate_group_options;
SYNCOPATE_API syncopate_status syncopate_group_new(syncopate_world* world, const void* initial,
                                                   size_t elements, syncopate_type type,
                                                   const syncopate_group_options* options,
                                                   syncopate_group** group);
SYNCOPATE_API void syncopate_group_free(syncopate_group* group);
/* Replaces the caller's values by the mean over the group of this step. */
SYNCOPATE_API syncopate_status syncopate_group_average(syncopate_group* group, void* values,
                                                       syncopate_receipt* receipt);
SYNCOPATE_API syncopate_status syncopate_group_leave(syncopate_group* group);

/* ---- Training ---- */

typedef struct syncopate_exchange {
  uint64_t number;
  uint64_t staleness;
  uint64_t dropped;
  double mass;
  double waited; /* In seconds. */
  int32_t waited_for;
  int32_t contributors;
  int32_t agreed;
  int32_t included;
} syncopate_exchange;

/* One rank's model and optimizer: what syncopate::Learner is. Each function gets `self`, and
 * returns 0, or else the call that led to it fails with SYNCOPATE_CALLBACK. */
typedef struct syncopate_learner {
  void* self;
  size_t size;
  int32_t has_momentum;
  int (*read_weights)(void* self, float* into);
  int (*keep_weights_at)(void* self, float* place);
  int (*write_gradient_to)(void* self, float* place);
  int (*flush_weights)(void* self);
  int (*flush_gradient)(void* self);
  int (*step)(void* self, const float* gradient, double mass);
  int (*anticipate)(void* self, double mass);
  int (*settle)(void* self);
  int (*exchanged)(void* self, const syncopate_exchange* exchange);
} syncopate_learner;

typedef struct syncopate_loop_options {
  uint64_t seed;
  int64_t samples;
  int64_t batch;
} syncopate_loop_options;

/* What syncopate::TrainingLoop is. */
typedef struct syncopate_loop syncopate_loop;
SYNCOPATE_API syncopate_status syncopate_loop_new(syncopate_world* world,
                                                  const syncopate_learner* learner,
                                                  const char* strategy,
                                                  const syncopate_loop_options* options,
                                                  syncopate_loop** loop);
SYNCOPATE_API void syncopate_loop_free(syncopate_loop* loop);
SYNCOPATE_API syncopate_status syncopate_loop_begin_step(syncopate_loop* loop);
SYNCOPATE_API syncopate_status syncopate_loop_end_step(syncopate_loop* loop, double computing);
SYNCOPATE_API syncopate_status syncopate_loop_finish(syncopate_loop* loop);
SYNCOPATE_API syncopate_status syncopate_loop_stop(syncopate_loop* loop);
SYNCOPATE_API int syncopate_loop_stopped(const syncopate_loop* loop);
SYNCOPATE_API uint64_t syncopate_loop_rounds(const syncopate_loop* loop);
SYNCOPATE_API syncopate_status syncopate_loop_every(syncopate_loop* loop, uint64_t rounds,
                                                    int (*meeting)(void* self), void* self);
SYNCOPATE_API syncopate_status syncopate_loop_add_schedule(syncopate_loop* loop,
                                                           int (*move)(void* self, double value),
                                                           void* self, size_t* schedule);
/* `value` is a measured one, or null. */
SYNCOPATE_API syncopate_status syncopate_loop_advance(syncopate_loop* loop, size_t schedule,
                                                      const double* value);
/* In how many parts a step is computed; and after a part, whether to stop there. */
SYNCOPATE_API int syncopate_loop_parts(const syncopate_loop* loop);
SYNCOPATE_API syncopate_status syncopate_loop_enough(syncopate_loop* loop, double computing,
                                                     int* enough);
/* Samples for the next step. Sets `count` to 0 where the strategy does not choose. */
SYNCOPATE_API syncopate_status syncopate_loop_choose(syncopate_loop* loop, int64_t* samples,
                                                     size_t* count);
SYNCOPATE_API syncopate_status syncopate_loop_note_losses(syncopate_loop* loop,
                                                          const int64_t* samples,
                                                          const float* losses, size_t count);

/* What a loop has under way: entries by name, each a number or a vector. */
typedef struct syncopate_state syncopate_state;
typedef struct syncopate_state_entry {
  const char* name;
  int32_t sharing;     /* 0: the same on every rank; 1: a rank's own; 2: pending. */
  const float* vector; /* Null if it is a number. */
  size_t length;
  double number;
} syncopate_state_entry;
SYNCOPATE_API syncopate_status syncopate_state_new(syncopate_state** state);
SYNCOPATE_API void syncopate_state_free(syncopate_state* state);
SYNCOPATE_API size_t syncopate_state_size(const syncopate_state* state);
SYNCOPATE_API syncopate_status syncopate_state_get(const syncopate_state* state, size_t index,
                                                   syncopate_state_entry* entry);
SYNCOPATE_API syncopate_status syncopate_state_add(syncopate_state* state,
                                                   const syncopate_state_entry* entry);
SYNCOPATE_API syncopate_status syncopate_loop_save(const syncopate_loop* loop,
                                                   syncopate_state** state);
SYNCOPATE_API syncopate_status syncopate_loop_load(syncopate_loop* loop,
                                                   const syncopate_state* state);

/* Checks a strategy for so many ranks, before anything starts. */
SYNCOPATE_API syncopate_status syncopate_strategy_check(const char* strategy, int ranks);
/* The strategies, by index from 0: null where they end. */
SYNCOPATE_API const char* syncopate_strategy_name(size_t index);
SYNCOPATE_API const char* syncopate_strategy_summary(size_t index);

#ifdef __cplusplus
}
#endif
#endif
