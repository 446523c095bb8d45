package handlers

import "github.com/listfacade/listfacade/cache"

// YAML has to be decoded as a whole, which takes a hundred times an answer's bytes of memory and about half a second for
// each MiB. What is larger than this is the upstream's to answer.
const (
	yamlObjects = 500
	yamlBytes   = 1 << 20
)

// tooLargeYAML tells whether the list that a plan makes of a State is to be YAML and too large to become it here.
func tooLargeYAML(q *Request, state *cache.State, p plan) bool {
	if !q.media.yaml {
		return false
	}
	limit := yamlObjects + 1
	if p.limit > 0 {
		limit = min(limit, p.limit)
	}
	chunk := state.Chunk(q.Predicate, p.from, limit)
	return chunk.Len > yamlObjects || chunk.Bytes() > yamlBytes
}
