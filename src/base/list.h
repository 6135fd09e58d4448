/* SPDX-License-Identifier: Apache-2.0
 *
 * list.h -- doubly linked list whose links live inside the items.
 *
 * The list owns nothing and allocates nothing. A node is in at most one list; a node that is in
 * none is zeroed, so `ff_list_remove` may be called twice and `ff_list_linked` can tell.
 * Tests: tests/unit/test_list.c. */
#ifndef FF_BASE_LIST_H
#define FF_BASE_LIST_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"

struct ff_list_node {
    struct ff_list_node *prev;
    struct ff_list_node *next;
};

/* Circular: an empty list points at itself. It must not be moved or copied after init. */
struct ff_list {
    struct ff_list_node head;
};

static inline void ff_list_init(struct ff_list *list)
{
    list->head.prev = &list->head;
    list->head.next = &list->head;
}

static inline bool ff_list_empty(const struct ff_list *list)
{
    return list->head.next == &list->head;
}

static inline bool ff_list_linked(const struct ff_list_node *node)
{
    return node->next != NULL;
}

static inline void ff_list_link_between(struct ff_list_node *node, struct ff_list_node *prev,
                                        struct ff_list_node *next)
{
    assert(node && !ff_list_linked(node));
    node->prev = prev;
    node->next = next;
    prev->next = node;
    next->prev = node;
}

static inline void ff_list_push_back(struct ff_list *list, struct ff_list_node *node)
{
    ff_list_link_between(node, list->head.prev, &list->head);
}

static inline void ff_list_push_front(struct ff_list *list, struct ff_list_node *node)
{
    ff_list_link_between(node, &list->head, list->head.next);
}

static inline void ff_list_remove(struct ff_list_node *node)
{
    if (!ff_list_linked(node))
        return;
    node->prev->next = node->next;
    node->next->prev = node->prev;
    node->prev = NULL;
    node->next = NULL;
}

/* NULL when empty. */
static inline struct ff_list_node *ff_list_first(const struct ff_list *list)
{
    return ff_list_empty(list) ? NULL : list->head.next;
}

static inline struct ff_list_node *ff_list_last(const struct ff_list *list)
{
    return ff_list_empty(list) ? NULL : list->head.prev;
}

static inline struct ff_list_node *ff_list_pop_front(struct ff_list *list)
{
    struct ff_list_node *const node = ff_list_first(list);

    if (node)
        ff_list_remove(node);
    return node;
}

/* The item around a node: ff_list_item(node, struct job, link). */
#define ff_list_item(node, type, member) ff_container_of(node, type, member)

/* `node` is declared by the macro. The current node may be removed or freed in the body; no other
 * may. */
#define FF_LIST_FOR_EACH(node, list)                                                               \
    for (struct ff_list_node * (node) = (list)->head.next, *node##_next_ = (node)->next;           \
         (node) != &(list)->head; (node) = node##_next_, node##_next_ = (node)->next)

#endif
