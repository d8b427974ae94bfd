/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Limits of nesting, see nesting.h. Nothing here recurses. */

#include "codegen/llvm/nesting.h"

#include <cctype>
#include <vector>

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Bitcode/LLVMBitCodes.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

#include "codegen/llvm/bitcode.h"

using namespace llvm;

static bool refuse(std::string &message, const char *what, unsigned limit)
{
    message = std::string(what) + " more than " + std::to_string(limit) + " levels deep";
    return false;
}

/* ---- the longest path ---- */

namespace {

/* Of a graph that is visited from several roots. An edge that closes a circle adds nothing. */
template <typename Node> class paths {
  public:
    /* The node that an edge leads to, and how many levels lie between; `to` is `node` before. False: there is no edge
     * of this number and of higher ones. */
    using edge_fn = function_ref<bool(Node node, unsigned number, Node &to, unsigned &levels)>;

    explicit paths(unsigned limit) : limit(limit)
    {
    }

    /* False: a path from the root is longer than the limit. */
    bool visit(Node root, edge_fn edge)
    {
        if (!known.try_emplace(root, 0).second)
            return true;
        stack.push_back({root, 0, 0, 1});
        while (!stack.empty()) {
            step &top = stack.back();
            Node to = top.node;
            unsigned levels = 1;
            if (!edge(top.node, top.next++, to, levels)) {
                if (!leave())
                    return false;
            } else if (to == top.node) {
                continue;
            } else if (auto [found, is_new] = known.try_emplace(to, 0); !is_new) {
                top.below = std::max(top.below, levels + found->second);
            } else {
                stack.push_back({to, 0, 0, levels});
            }
        }
        return true;
    }

  private:
    struct step {
        Node node;
        unsigned next, below, levels;
    };
    DenseMap<Node, unsigned> known; /* levels below; 0 as long as a node is on the stack */
    std::vector<step> stack;
    unsigned limit;

    bool leave()
    {
        step done = stack.back();
        stack.pop_back();
        known[done.node] = done.below;
        if (!stack.empty())
            stack.back().below = std::max(stack.back().below, done.below + done.levels);
        return done.below <= limit;
    }
};

/* Types and what they contain. */
struct type_graph {
    struct part {
        unsigned type, levels;
    };
    struct type {
        size_t first = 0, count = 0; /* of `parts` */
        unsigned levels = 0;         /* of its own brackets */
    };
    std::vector<type> types;
    std::vector<part> parts;

    void begin(unsigned number)
    {
        if (number >= types.size())
            types.resize(number + 1);
        types[number].first = parts.size();
    }

    void add(unsigned number, unsigned part, unsigned levels)
    {
        if (part >= types.size())
            types.resize(part + 1);
        parts.push_back({part, levels});
        types[number].count++;
    }

    bool is_flat()
    {
        paths<unsigned> longest(TN__NESTING);
        auto edge = [this](unsigned number, unsigned i, unsigned &to, unsigned &levels) {
            const type &from = types[number];
            if (i >= from.count)
                return false;
            to = parts[from.first + i].type;
            levels = parts[from.first + i].levels;
            return true;
        };
        for (unsigned number = 0; number < types.size(); number++)
            if (!longest.visit(number, edge))
                return false;
        return true;
    }
};

/* ---- text ---- */

/* Finds brackets, and the definitions of types: %name = type ... */
class scanner {
  public:
    scanner(StringRef text, tn__position &at) : text(text), deepest(at)
    {
    }

    bool run(std::string &message)
    {
        while (at < text.size() && !is_redefined)
            if (!step())
                return refuse(message, "brackets are nested", TN__NESTING);
        deepest = {};
        return types.is_flat() || refuse(message, "types are nested", TN__NESTING);
    }

  private:
    StringRef text;
    size_t at = 0, line_begin = 0;
    unsigned line = 1, depth = 0;
    tn__position &deepest;
    StringMap<unsigned> numbers;
    type_graph types;
    BitVector defined;
    bool in_type = false, is_redefined = false;
    unsigned current = 0;   /* the type that is being defined, */
    bool has_begun = false; /* and whether there was anything of it on a line */

    char peek() const
    {
        return at < text.size() ? text[at] : 0;
    }

    void end_line()
    {
        line++;
        line_begin = at;
        if (in_type && has_begun && !depth)
            in_type = false;
    }

    void skip_quoted() /* there is no way to write a quote within quotes */
    {
        size_t end = text.find('"', at);
        for (size_t stop = std::min(end, text.size()); at < stop;)
            if (text[at++] == '\n')
                end_line();
        at = std::min(at + 1, text.size());
    }

    void skip_comment()
    {
        at = std::min(text.find('\n', at), text.size());
    }

    /* To the next token. */
    void skip_space()
    {
        for (; at < text.size() && (isspace((unsigned char)text[at]) || text[at] == ';' || !text[at]);)
            if (text[at] == ';')
                skip_comment();
            else if (text[at++] == '\n')
                end_line();
    }

    /* As one spelling for each name: "\61" is a; 007 is 7. */
    std::string name()
    {
        if (peek() != '"') {
            size_t begin = at;
            while (isalnum((unsigned char)peek()) || StringRef("-$._").contains(peek()))
                if (!peek())
                    break;
                else
                    at++;
            StringRef word = text.slice(begin, at);
            bool is_number = !word.empty() && all_of(word, isDigit);
            return is_number ? "\"" + word.ltrim('0').str() : word.str();
        }
        size_t begin = ++at;
        skip_quoted();
        StringRef quoted = text.slice(begin, at - 1);
        std::string plain;
        for (size_t i = 0; i < quoted.size(); i++)
            if (quoted[i] == '\\' && i + 1 < quoted.size() && quoted[i + 1] == '\\')
                plain += quoted[i++];
            else if (quoted[i] == '\\' && i + 2 < quoted.size() && isHexDigit(quoted[i + 1]) &&
                     isHexDigit(quoted[i + 2]))
                plain += (char)hexFromNibbles(quoted[i + 1], quoted[i + 2]), i += 2;
            else
                plain += quoted[i];
        return plain;
    }

    bool is_word(StringRef word)
    {
        skip_space();
        if (!text.substr(at).starts_with(word))
            return false;
        at += word.size();
        return true;
    }

    void visit_name()
    {
        if (depth && !in_type) /* of a value */
            return;
        unsigned number = numbers.try_emplace(name(), (unsigned)numbers.size()).first->second;
        if (depth == 0 && is_word("=") && is_word("type")) {
            defined.resize(numbers.size());
            is_redefined = defined.test(number); /* the parser goes no further */
            defined.set(number);
            types.begin(number);
            current = number;
            in_type = true;
            has_begun = false;
        } else if (in_type) {
            types.add(current, number, depth);
        }
    }

    bool open()
    {
        if (!depth)
            deepest = {line, (unsigned)(at - line_begin)};
        has_begun = true;
        return ++depth <= TN__NESTING;
    }

    void close()
    {
        depth -= depth != 0;
        in_type &= depth != 0;
    }

    bool step()
    {
        skip_space();
        switch (char c = peek(); at++, c) {
        case '"':
            skip_quoted();
            break;
        case '(':
        case '[':
        case '{':
        case '<':
            return open();
        case ')':
        case ']':
        case '}':
        case '>':
            close();
            break;
        case '%':
            visit_name();
            break;
        default:
            has_begun = true;
        }
        return true;
    }
};

} // namespace

bool tn__nesting_of_text(StringRef text, tn__position &at, std::string &message)
{
    return scanner(text, at).run(message);
}

/* ---- bitcode ---- */

/* The records of types that contain others: where their operands begin that are numbers of types, and how many are; 0:
 * all. */
static const struct type_record {
    unsigned code;
    size_t first, count;
} type_records[] = {
    {bitc::TYPE_CODE_VECTOR, 1, 1},       {bitc::TYPE_CODE_ARRAY, 1, 1},    {bitc::TYPE_CODE_STRUCT_ANON, 1, 0},
    {bitc::TYPE_CODE_STRUCT_NAMED, 1, 0}, {bitc::TYPE_CODE_FUNCTION, 1, 0}, {bitc::TYPE_CODE_TARGET_TYPE, 1, 0},
};

/* Forward references lead no further than there are types, so a wrong one cannot make the graph large. */
static void add_type(type_graph &graph, unsigned number, unsigned code, ArrayRef<uint64_t> operands, size_t most)
{
    graph.begin(number);
    for (const type_record &row : type_records)
        if (row.code == code)
            for (size_t i = row.first; i < operands.size() && (!row.count || i < row.first + row.count); i++)
                if (operands[i] < most)
                    graph.add(number, (unsigned)operands[i], 1);
}

static Error read_types(BitstreamCursor &cursor, size_t most, type_graph &graph)
{
    if (Error error = cursor.EnterSubBlock(bitc::TYPE_BLOCK_ID_NEW))
        return error;
    unsigned count = 0;
    SmallVector<uint64_t, 64> operands;
    return tn__each_entry(cursor, [&](BitstreamEntry entry) -> Expected<bool> {
        if (entry.Kind == BitstreamEntry::SubBlock)
            return false;
        operands.clear();
        Expected<unsigned> code = cursor.readRecord(entry.ID, operands);
        if (!code)
            return code.takeError();
        if (*code != bitc::TYPE_CODE_NUMENTRY && *code != bitc::TYPE_CODE_STRUCT_NAME)
            add_type(graph, count++, *code, operands, most);
        return true;
    });
}

bool tn__nesting_of_bitcode(StringRef bytes, std::string &message)
{
    type_graph graph;
    tn__each_block(bytes,
                   [&](BitstreamCursor &cursor,
                       unsigned block) -> Expected<bool> { /* what was read counts */
                                                           bool are_types = block == bitc::TYPE_BLOCK_ID_NEW;
                                                           Error error = are_types
                                                                             ? read_types(cursor, bytes.size(), graph)
                                                                             : cursor.SkipBlock();
                                                           return error ? Expected<bool>(std::move(error)) : !are_types;
                   });
    return graph.is_flat() || refuse(message, "types are nested", TN__NESTING);
}

/* ---- modules ---- */

namespace {

/* Functions and variables end a constant, but aliases continue it. */
const Constant *as_nested(const Value *value)
{
    return isa<ConstantAggregate, ConstantExpr, GlobalAlias, GlobalIFunc>(value) ? cast<Constant>(value) : nullptr;
}

struct visitor {
    std::string message;
    bool names_blocks = false; /* by their addresses */
    paths<const Constant *> constants{TN__NESTING}, aliases{TN__ALIAS_NESTING};
    paths<const MDNode *> nodes{TN__METADATA_NESTING};

    /* Whether an edge has this number, and where it leads: nowhere else, or to `to`. */
    bool constant_edge(const Constant *from, unsigned number, const Constant *&to)
    {
        if (number >= from->getNumOperands())
            return false;
        names_blocks |= isa<BlockAddress>(from->getOperand(number));
        if (const Constant *part = as_nested(from->getOperand(number)))
            to = part;
        return true;
    }

    bool visit(const Value *value)
    {
        if (auto *wrapped = dyn_cast<MetadataAsValue>(value))
            return visit(wrapped->getMetadata());
        const Constant *root = as_nested(value);
        auto edge = [this](const Constant *from, unsigned i, const Constant *&to, unsigned &) {
            return constant_edge(from, i, to);
        };
        names_blocks |= isa<BlockAddress>(value);
        return !root || constants.visit(root, edge) || refuse(message, "constants are nested", TN__NESTING);
    }

    bool visit_alias(const GlobalValue &alias)
    {
        auto edge = [this](const Constant *from, unsigned i, const Constant *&to, unsigned &levels) {
            levels = isa<GlobalValue>(from);
            return constant_edge(from, i, to);
        };
        return visit(&alias) &&
               (aliases.visit(&alias, edge) || refuse(message, "aliases are nested", TN__ALIAS_NESTING));
    }

    bool visit(const Metadata *metadata)
    {
        if (auto *value = dyn_cast_or_null<ValueAsMetadata>(metadata))
            return visit(value->getValue());
        if (auto *list = dyn_cast_or_null<DIArgList>(metadata))
            return all_of(list->getArgs(), [this](const Metadata *argument) { return visit(argument); });
        auto *root = dyn_cast_or_null<MDNode>(metadata);
        bool good = true;
        auto edge = [&](const MDNode *from, unsigned i, const MDNode *&to, unsigned &) {
            if (i >= from->getNumOperands())
                return false;
            const Metadata *operand = from->getOperand(i).get();
            if (auto *node = dyn_cast_or_null<MDNode>(operand))
                to = node;
            else if (operand && !isa<MDString>(operand))
                good = good && visit(operand);
            return true;
        };
        return !root || (nodes.visit(root, edge) ? good : refuse(message, "metadata is nested", TN__METADATA_NESTING));
    }

    bool visit_operands(const User &user)
    {
        return all_of(user.operand_values(), [this](const Value *value) { return visit(value); });
    }

    template <typename Owner> bool visit_attached(const Owner &owner)
    {
        if (!owner.hasMetadata())
            return true;
        SmallVector<std::pair<unsigned, MDNode *>, 8> attached;
        owner.getAllMetadata(attached);
        return all_of(attached, [this](const auto &pair) { return visit(pair.second); });
    }

    bool visit(const DbgRecord &record)
    {
        if (!visit(record.getDebugLoc().getAsMDNode()))
            return false;
        auto *variable = dyn_cast<DbgVariableRecord>(&record);
        return !variable || (visit(variable->getRawLocation()) && visit(variable->getRawVariable()));
    }

    bool visit(const Instruction &instruction)
    {
        return visit_operands(instruction) && visit_attached(instruction) &&
               all_of(instruction.getDbgRecordRange(), [this](const DbgRecord &record) { return visit(record); });
    }

    bool visit(const Function &function)
    {
        return visit_operands(function) && visit_attached(function) &&
               all_of(instructions(function), [this](const Instruction &instruction) { return visit(instruction); });
    }

    bool visit(const Module &module)
    {
        auto visit_variable = [this](const GlobalVariable &variable) {
            return visit_operands(variable) && visit_attached(variable);
        };
        auto visit_named = [this](const NamedMDNode &named) {
            return all_of(named.operands(), [this](const MDNode *node) { return visit(node); });
        };
        auto visit_one = [this](const GlobalValue &value) { return visit_alias(value); };
        return all_of(module.globals(), visit_variable) && all_of(module.aliases(), visit_one) &&
               all_of(module.ifuncs(), visit_one) && all_of(module.named_metadata(), visit_named) &&
               all_of(module, [this](const Function &function) { return visit(function); });
    }
};

} // namespace

bool tn__nesting_of_module(const Module &module, std::string &message)
{
    visitor all;
    bool good = all.visit(module);
    message = all.message;
    return good;
}

bool tn__nesting_of_body(const Function &function, std::string &message)
{
    visitor all;
    bool good = all.visit(function);
    message = good && all.names_blocks ? "addresses of blocks are not among the first constants" : all.message;
    return good && !all.names_blocks;
}
