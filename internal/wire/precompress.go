package wire

import "time"

// AgingStyle is a ListStyle whose items read differently as time goes by.
type AgingStyle interface {
	ListStyle
	// Until is when the first of the items that were appended since it was last asked reads differently; zero when none
	// ever does.
	Until() time.Time
}

const (
	// precompressFrom is how many bytes of items are worth being compressed ahead. Fewer are compressed as they go.
	precompressFrom = 16 << 10
	// precompressItems is how many items a part of a page must have for it. Where lists of a namespace or a client's
	// chunks begin and end is the same again and again; what a selector leaves of a page is not.
	precompressItems = 8
)

// ahead is the form of a run, which is made if there is none and it is worth it; nil when the run is to be written item
// by item. before is how many bytes of the list stand before the run.
func (l *listWriter) precompressed(r Run, before int) *Deflated {
	precompressed, page := l.body.precompressed, r.Page.Precompressed()
	if precompressed == nil || page == nil || r.Selector == nil && r.isShort() || l.list.Representation.Kind == Row && time.Since(l.list.Now) > agedList {
		return nil
	}
	key, s := keyOf(l.list.Representation, inList, r), page.on(precompressed)
	if representation := precompressed.find(s, key, l.list.Now); representation != nil {
		return precompressed.use(representation, l.list.Now)
	}
	if !l.isWorth(r, before) {
		return nil
	}
	return precompressed.precompress(s, key, l.list.Now, func(dst []byte) uncompressedText { return l.textOf(dst, r) })
}

// agedList is for how long a Table takes forms, and makes them: its ages are all counted to when it began.
const agedList = time.Second

// isShort tells a part of a page with few items.
func (r Run) isShort() bool { return r.To-r.From < min(precompressItems, r.Page.Len()) }

// keyOf is the key of a run's form.
func keyOf(representation Representation, body bodyKind, r Run) precompressedKey {
	key := precompressedKey{representation: representation, body: body, from: r.From, to: r.To}
	if r.Selector != nil {
		key.selector = r.Selector.Name
	}
	return key
}

// isWorth tells whether a run is large, and the body with it, as far as its objects tell. What is selected of a run is
// worth remembering even if that is nothing.
func (l *listWriter) isWorth(r Run, before int) bool {
	if r.Selector != nil {
		return true
	}
	bytes := r.size()
	return bytes >= precompressFrom && l.body.member.takes(before+bytes)
}

// textOf is what a run's items look like, and what stands between them.
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

// PrecompressedEvents is a run as ADDED events, whose frames do not depend on what was sent before: Whole or Partial.
// It is made if there is none; nil when the run is better sent event by event.
func PrecompressedEvents(precompressed *Precompressed, shape Shape, representation Representation, r Run, now time.Time) *Deflated {
	if precompressed == nil || !precompressed.keeps() || r.Page.Precompressed() == nil || representation.Kind == Row || r.isShort() {
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

// size is how many bytes the run's items have together.
func (r Run) size() int {
	bytes := 0
	for at := r.From; at < r.To; at++ {
		bytes += r.Page.Item(at).Size()
	}
	return bytes
}

// splice adds a run that was compressed ahead.
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
