/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c -- ff-conformance: every case of this folder on every store.
 *
 * Read first: tests/conformance/README.md. */
#include "support/runner.h"

#include "base/banned.h"

int main(int argc, char **argv)
{
    return test_main("conformance", argc, argv);
}
