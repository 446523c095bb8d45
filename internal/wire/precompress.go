package wire

import "time"

// AgingStyle is a ListStyle whose items contain ages.
type AgingStyle interface {
	ListStyle
	// Until returns the earliest time at which the text of an item changes; zero if no text changes. It considers the
	// items that were appended since the last call of Until.
	Until() time.Time
}

const (
	// precompressFrom is the minimum size in bytes of a cached run that is not the result of a selector. Body compresses a
	// smaller run while it writes the run.
	precompressFrom = 16 << 10
	// precompressItems is the minimum number of items in a cached run that is only a part of a page. A cached result of a
	// selector can have fewer items, because it also saves the evaluation of the selector.
	precompressItems = 8
)

// precompressed returns the precompressed text of a run, and makes it if this is worthwhile. It returns nil if the
// items should be written one by one. The argument before is the number of bytes of the list before the run.
func (l *listWriter) precompressed(r Run, before int) *Deflated {
	precompressed, page := l.body.precompressed, r.Page.Precompressed()
	if precompressed == nil || page == nil || r.Selector == nil && r.isShort() || l.list.Representation.Kind == Row &&
		time.Since(l.list.Now) > agedList {
		return nil
	}
	key, s := keyOf(l.list.Representation, inList, r), page.on(precompressed)
	if kept := precompressed.find(s, key, l.list.Now); kept != nil {
		return precompressed.use(kept, l.list.Now)
	}
	if !l.isWorth(r, before) {
		return nil
	}
	return precompressed.precompress(s, key, l.list.Now, func(dst []byte) uncompressedText { return l.textOf(dst, r) })
}

// agedList is the maximum age of a Table list that uses or makes precompressed runs. The ages in its rows are relative
// to the start of the list, and would be out of date in a list that starts later.
const agedList = time.Second

// isShort reports whether the run has few items and is not a complete page.
func (r Run) isShort() bool { return r.To-r.From < min(precompressItems, r.Page.Len()) }

func keyOf(representation Representation, body bodyKind, r Run) precompressedKey {
	key := precompressedKey{representation: representation, body: body, from: r.From, to: r.To}
	if r.Selector != nil {
		key.selector = r.Selector.Name
	}
	return key
}

// isWorth reports whether the text of a run should be cached. It returns true for the result of a selector, even an
// empty one. For other runs, the run and the body must be large enough, estimated by the sizes of the objects.
func (l *listWriter) isWorth(r Run, before int) bool {
	if r.Selector != nil {
		return true
	}
	bytes := r.size()
	return bytes >= precompressFrom && l.body.member.takes(before+bytes)
}

func (l *listWriter) textOf(dst []byte, r Run) uncompressedText {
	style, text := l.list.Shape.List(l.list.Representation, l.list.Now), uncompressedText{plain: dst}
	for at := r.From; at < r.To; at++ {
		if !r.selects(at) {
			continue
		}
		if text.items = append(text.items, uint16(at)); len(text.items) > 1 { //nolint:gosec // pages have at most 128 items
			text.plain = append(text.plain, l.separator...)
		}
		text.plain = style.AppendItem(text.plain, r.Page.Item(at))
	}
	if aging, ok := style.(AgingStyle); ok {
		text.until = aging.Until()
	}
	return text
}

// PrecompressedEvents returns the compressed text of a run as ADDED events, in representation Whole or Partial. The
// frames of these representations do not depend on earlier frames. If the text is not cached, PrecompressedEvents makes
// it. It returns nil if the run should be sent event by event.
func PrecompressedEvents(precompressed *Precompressed, shape Shape, representation Representation, r Run,
	now time.Time) *Deflated {
	if precompressed == nil || !precompressed.keeps() || r.Page.Precompressed() == nil || representation.Kind == Row ||
		r.isShort() {
		return nil
	}
	key, s := keyOf(representation, inStream, r), r.Page.Precompressed().on(precompressed)
	if kept := precompressed.find(s, key, now); kept != nil {
		return precompressed.use(kept, now)
	}
	if r.size() < precompressFrom {
		return nil
	}
	return precompressed.precompress(s, key, now, func(dst []byte) uncompressedText {
		framer := shape.Framer(representation)
		for at := r.From; at < r.To; at++ {
			dst = framer.AppendEvent(dst, TypeAdded, r.Page.Item(at))
		}
		return uncompressedText{plain: dst}
	})
}

func (r Run) size() int {
	bytes := 0
	for at := r.From; at < r.To; at++ {
		bytes += r.Page.Item(at).Size()
	}
	return bytes
}

func (l *listWriter) splice(text *Deflated) error {
	if len(text.items) == 0 {
		return nil
	}
	l.body.items += len(text.items)
	l.between()
	if err := l.send(); err != nil {
		return err
	}
	return l.body.member.splice(text)
}
