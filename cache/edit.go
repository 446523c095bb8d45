package cache

import "slices"

func (t tree) put(o *Object) tree {
	if len(t.chunks) == 0 {
		return newTree(t.value, []*Object{o})
	}
	at, found := t.find(t.positionOf(o))
	replaced := 0
	if found {
		replaced = 1
	}
	if at == t.end() {
		at = t.behindLast()
	}
	page := t.chunks[at.chunk].pages[at.page]
	objects := spliced(page.objects, at.object, at.object+replaced, o)
	t.count += 1 - replaced
	return t.withPages(at.chunk, at.page, at.page+1, t.pagesOf(objects))
}

// behindLast returns the spot at the end of the last page, where an object that sorts after all others is inserted.
func (t tree) behindLast() spot {
	ci := len(t.chunks) - 1
	pages := t.chunks[ci].pages
	pi := len(pages) - 1
	return spot{ci, pi, pages[pi].Len()}
}

func (t tree) without(o *Object) tree {
	at, found := t.find(t.positionOf(o))
	if !found {
		return t
	}
	pages := t.chunks[at.chunk].pages
	objects := spliced(pages[at.page].objects, at.object, at.object+1)
	objects, from, to := joined(objects, at.page, len(pages), func(i int) []*Object { return pages[i].objects })
	t.count--
	return t.withPages(at.chunk, from, to, t.pagesOf(objects))
}

// withPages returns the tree with the pages from..to of one chunk replaced; the caller updates the count. It drops the
// precompressed representations of the old pages, because few readers still use older States.
func (t tree) withPages(ci, from, to int, with []*Page) tree {
	for _, page := range t.chunks[ci].pages[from:to] {
		page.dropPrecompressed()
	}
	pages := spliced(t.chunks[ci].pages, from, to, with...)
	chunks := t.chunks
	pages, first, last := joined(pages, ci, len(chunks), func(i int) []*Page { return chunks[i].pages })
	var made []*chunk
	for _, run := range halves(pages) {
		made = append(made, newChunk(run))
	}
	t.chunks = spliced(chunks, first, last, made...)
	return t
}

func (t *tree) pagesOf(objects []*Object) []*Page {
	var pages []*Page
	for _, run := range halves(objects) {
		pages = append(pages, t.newPage(run))
	}
	return pages
}

// spliced returns a new slice: s with s[from:to] replaced by with. s does not change (I2).
func spliced[T any](s []T, from, to int, with ...T) []T {
	out := make([]T, 0, len(s)-(to-from)+len(with))
	out = append(out, s[:from]...)
	out = append(out, with...)
	return append(out, s[to:]...)
}

// halves returns the items as one run, or as two if there are more than most. Two runs are copies, because later edits
// free them separately.
func halves[T any](items []T) [][]T {
	switch {
	case len(items) == 0:
		return nil
	case len(items) <= most:
		return [][]T{items}
	default:
		middle := len(items) / 2
		return [][]T{slices.Clone(items[:middle]), slices.Clone(items[middle:])}
	}
}

// joined merges items, the new content of a run, with a neighbouring run if the items are few and the result leaves
// space. It returns the merged items, and the range from..to of the runs that these replace. The arguments at and count
// are the run's index and the number of runs.
func joined[T any](items []T, at, count int, run func(int) []T) (all []T, from, to int) {
	const room = most - most/4
	if len(items) == 0 || len(items) >= fewest {
		return items, at, at + 1
	}
	if at+1 < count && len(items)+len(run(at+1)) <= room {
		return slices.Concat(items, run(at+1)), at, at + 2
	}
	if at > 0 && len(items)+len(run(at-1)) <= room {
		return slices.Concat(run(at-1), items), at - 1, at + 1
	}
	return items, at, at + 1
}
