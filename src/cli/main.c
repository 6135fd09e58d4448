/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c -- the program ff; everything else is a library, so that tests can call it. */
#include "cli/cli.h"

#include "base/banned.h"

int main(int argc, char **argv)
{
    return ff_cli_main(argc, argv, stdout, stderr);
}
