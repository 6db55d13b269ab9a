// Everything a program needs: #include <syncopate/syncopate.h>
#pragma once

#include "syncopate/allreduce.h"
#include "syncopate/error.h"
#include "syncopate/group_average.h"
#include "syncopate/partial_allreduce.h"
#include "syncopate/policy.h"
#include "syncopate/receipt.h"
#include "syncopate/rendezvous.h"
#include "syncopate/types.h"
#include "syncopate/world.h"
