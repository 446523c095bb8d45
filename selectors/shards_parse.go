package selectors

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// errEmptyShards is kube-apiserver's error for a selector of white space.
var errEmptyShards = errors.New("empty shard selector is not allowed; omit the parameter for unfiltered lists")

// ParseShards parses a shardSelector parameter (KEP-5866); "" selects everything and returns nil. For an invalid
// selector, it returns *InvalidError with kube-apiserver's message, or *ShardSyntaxError if that message is unknown.
func ParseShards(s string) (*Shards, error) {
	if s == "" {
		return nil, nil
	}
	shards, err := parseShards(strings.TrimSpace(s))
	switch {
	case errors.Is(err, errShardSyntax):
		return nil, &ShardSyntaxError{Selector: s}
	case err != nil:
		return nil, &InvalidError{Selector: s, cause: fmt.Errorf("invalid shard selector: %w", err)}
	}
	return shards, nil
}

func parseShards(text string) (*Shards, error) {
	if text == "" {
		return nil, errEmptyShards
	}
	node, err := parseShardExpression(text)
	if err != nil {
		return nil, err
	}
	calls, err := node.calls(nil)
	if err != nil {
		return nil, err
	}
	for _, call := range calls[1:] {
		if call.path != calls[0].path {
			return nil, fmt.Errorf("all shard ranges must use the same field, got %q and %q", calls[0].path, call.path)
		}
	}
	return newShards(calls), nil
}

type shardRange struct{ path, start, end string }

// calls appends the shardRange() calls of an expression, in the order in which kube-apiserver checks them.
func (n *shardNode) calls(to []shardRange) (_ []shardRange, err error) {
	switch {
	case n.kind != shardCall:
		return nil, fmt.Errorf("unexpected expression kind %d; expected shardRange() call or || operator", n.kind)
	case n.text == shardOr:
		for _, arg := range n.args {
			if to, err = arg.calls(to); err != nil {
				return nil, err
			}
		}
		return to, nil
	case n.text != "shardRange":
		return nil, fmt.Errorf("unsupported function %q; only shardRange() and || are allowed", n.text)
	}
	call, err := n.shardRange()
	return append(to, call), err
}

func (n *shardNode) shardRange() (r shardRange, err error) {
	if len(n.args) != 3 {
		return r, fmt.Errorf("shardRange() requires exactly 3 arguments, got %d", len(n.args))
	}
	switch field := n.args[0]; {
	case field.kind != shardName && field.kind != shardPath:
		return r, fmt.Errorf("shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind %d",
			field.kind)
	case !slices.Contains(shardPaths[:], field.text):
		return r, fmt.Errorf("unsupported field path %q; supported: %s", field.text, strings.Join(shardPaths[:], ", "))
	default:
		r.path = field.text
	}
	if r.start, err = n.args[1].bound("hexStart"); err != nil {
		return r, err
	}
	if r.end, err = n.args[2].bound("hexEnd"); err != nil {
		return r, err
	}
	if len(r.start) > len(r.end) || len(r.start) == len(r.end) && r.start >= r.end {
		return r, fmt.Errorf("shard range start %s must be less than end %s", r.start, r.end)
	}
	return r, nil
}

// endOfShards is the end of the last shard: 2^64. No other valid bound has 17 digits.
const endOfShards = "0x10000000000000000"

// bound returns a bound of a range: 16 digits after 0x, or endOfShards.
func (n *shardNode) bound(name string) (string, error) {
	digits, prefixed := strings.CutPrefix(n.text, "0x")
	switch {
	case n.kind != shardString:
		return "", fmt.Errorf("%s must be a string literal (e.g. '0xff'), got expression kind %d", name, n.kind)
	case !prefixed:
		return "", fmt.Errorf("%s must have '0x' prefix, got %q", name, n.text)
	case digits == "":
		return "", fmt.Errorf("%s: hex value is required after '0x'", name)
	case len(digits) > len(endOfShards)-len("0x"):
		return "", fmt.Errorf("%s: hex value too long (%d chars, max 17): %q", name, len(digits), digits)
	}
	for _, c := range digits {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", fmt.Errorf("%s: invalid hex character %q in %q", name, string(c), n.text)
		}
	}
	const usual = 16
	switch {
	case len(digits) > usual && n.text != endOfShards:
		return "", fmt.Errorf("%s: 17-digit hex value must be '%s' (2^64), got %q", name, endOfShards, n.text)
	case len(digits) < usual:
		padded := "0x" + strings.Repeat("0", usual-len(digits)) + digits
		return "", fmt.Errorf("%s must be a 0x-prefixed 16-digit hex value, got %q (did you mean %q?)", name, n.text, padded)
	}
	return n.text, nil
}

// hashes returns the hashes of a range whose bounds are valid.
func (r shardRange) hashes() HashRange {
	first, _ := strconv.ParseUint(r.start[len("0x"):], 16, 64)
	end, _ := strconv.ParseUint(r.end[len("0x"):], 16, 64) // for endOfShards: the maximum of a uint64, inclusive
	if r.end == endOfShards {
		return HashRange{First: first, Last: end}
	}
	return HashRange{First: first, Last: end - 1}
}
