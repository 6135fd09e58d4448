/* SPDX-License-Identifier: Apache-2.0
 *
 * graph-dot.c -- a flow's graph for Graphviz.
 *
 * Tests: tests/unit/test_cli_graph.c, tests/e2e/test_flow.py. */
#include "cli/graph.h"

#include <string.h>

#include "base/macros.h"
#include "cli/print.h"

#include "base/banned.h"

static const char *dot_colour(const char *word)
{
    static const struct {
        const char *word, *colour;
    } colours[] = {
        {"completed", "palegreen"},
        {"success", "forestgreen"},
        {"failed", "lightcoral"},
        {"expired", "lightcoral"},
        {"fail", "red"},
        {"active", "lightskyblue"},
        {"cancelled", "plum"},
        {"skipped", "lightgrey"},
        {"skip", "grey"},
        {"delayed", "khaki"},
        {"unresolved", "black"},
    };

    for (size_t i = 0; i < FF_ARRAY_LEN(colours); i++)
        if (strcmp(colours[i].word, word) == 0)
            return colours[i].colour;
    return "white";
}

/* A quoted string of Graphviz; control characters would break the line. */
static void dot_text(struct ff_cli *cli, const char *text)
{
    for (const char *at = ff_printable(cli, text, strlen(text)); *at; at++) {
        if (*at == '"' || *at == '\\')
            (void)fputc('\\', cli->out);
        (void)fputc(*at, cli->out);
    }
}

static void dot_edge(struct ff_cli *cli, const struct ff_flow_edge_info *edge)
{
    (void)fputs("  \"", cli->out);
    dot_text(cli, edge->from);
    (void)fputs("\" -> \"", cli->out);
    dot_text(cli, edge->to);
    (void)fprintf(cli->out, "\" [color=%s%s];\n", dot_colour(edge->outcome),
                  strcmp(edge->pass, "input") == 0 ? ", label=input" : "");
}

void ff_graph_dot(struct ff_cli *cli, const struct ff_flow_info *flow)
{
    size_t join = 0;

    (void)fprintf(cli->out,
                  "digraph \"%s\" {\n  node [shape=box, style=\"rounded,filled\", "
                  "fontname=\"sans-serif\"];\n",
                  flow->flow_id);
    for (size_t i = 0; i < flow->node_info_count; i++) {
        const struct ff_flow_node_info *const node = &flow->nodes[i];

        (void)fputs("  \"", cli->out);
        dot_text(cli, node->name);
        (void)fputs("\" [label=\"", cli->out);
        dot_text(cli, node->name);
        (void)fprintf(cli->out, "\\n%s", node->public_state);
        while (join < flow->join_count && strcmp(flow->joins[join].node, node->name) < 0)
            join++;
        if (join < flow->join_count && strcmp(flow->joins[join].node, node->name) == 0) {
            const char *const text = ff_graph_join_text(cli, &flow->joins[join]);

            (void)fprintf(cli->out, "%s%s", text[0] ? "\\n" : "", text);
        }
        (void)fprintf(cli->out, "\", fillcolor=%s];\n", dot_colour(node->public_state));
    }
    for (size_t i = 0; i < flow->edge_info_count; i++)
        dot_edge(cli, &flow->edges[i]);
    (void)fputs("}\n", cli->out);
}
