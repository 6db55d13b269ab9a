/* A user's first program in C: the mean over all ranks of each rank's number plus one. */
#include <stdio.h>
#include <stdlib.h>
#include <syncopate.h>

static void check(syncopate_status status) {
  if (status == SYNCOPATE_OK) return;
  fprintf(stderr, "%s. %s.\n", syncopate_what_happened(), syncopate_what_to_do());
  exit(1);
}

int main(void) {
  syncopate_world* world;
  syncopate_place place;
  syncopate_sum* mean;
  check(syncopate_world_from_environment(&world));
  check(syncopate_world_place(world, &place));
  check(syncopate_sum_new(world, SYNCOPATE_FLOAT32, SYNCOPATE_SCALE_RANKS, &mean));
  float value = (float)place.rank + 1;
  check(syncopate_sum_run(mean, &value, 1, NULL));
  printf("rank %d of %d: mean %g\n", place.rank, place.size, value);
  syncopate_sum_free(mean);
  syncopate_world_free(world);
  return 0;
}
