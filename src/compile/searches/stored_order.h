#pragma once

#include "compile/order/order_search.h"
#include "compile/searches/search_store.h"

namespace plimsoll::compile {

// FindOrder, asking the store first; null: without one. What the store gives is taken only where it
// is a legal order whose peak is not above that of the file's order.
FoundOrder FindOrderOnce(const Schedule& schedule, const OrderEffort& effort, SearchStore* store);

}  // namespace plimsoll::compile
