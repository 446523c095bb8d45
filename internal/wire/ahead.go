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
	// aheadFrom is how many bytes of items are worth being compressed ahead. Fewer are compressed as they go.
	aheadFrom = 16 << 10
	// aheadItems is how many items a part of a page must have for it. Where lists of a namespace or a client's chunks
	// begin and end is the same again and again; what a selector leaves of a page is not.
	aheadItems = 8
)

// ahead is the form of a run, which is made if there is none; nil when the run is to be written item by item.
func (l *listWriter) ahead(r Run) *Deflated {
	forms, page := l.body.forms, r.Page.Forms()
	if forms == nil || page == nil || r.To-r.From < min(aheadItems, r.Page.Len()) {
		return nil
	}
	key, s := formKey{form: l.list.Form, body: inList, from: r.From, to: r.To}, page.on(forms)
	var text *Deflated
	if form := forms.find(s, key, l.list.Now); form != nil {
		text = forms.use(form, l.list.Now)
	} else if l.isWorth(r) {
		text = forms.makeForm(s, key, l.list.Now, func(dst []byte) ([]byte, time.Time) { return l.appendRun(dst, r) })
	}
	if text == nil || !l.body.member.takes(len(*l.piece)+len(l.separator)+text.Length()) {
		return nil // the body may turn out to be too small to be compressed
	}
	return text
}

// isWorth tells whether a run is large, and the body with it, as far as its objects tell.
func (l *listWriter) isWorth(r Run) bool {
	bytes := r.size()
	return bytes >= aheadFrom && l.body.member.takes(len(*l.piece)+bytes)
}

// appendRun appends a run's items and what stands between them.
func (l *listWriter) appendRun(dst []byte, r Run) ([]byte, time.Time) {
	style := l.list.Shape.List(l.list.Form, l.list.Now)
	for at := r.From; at < r.To; at++ {
		if at > r.From {
			dst = append(dst, l.separator...)
		}
		dst = style.AppendItem(dst, r.Page.Item(at))
	}
	if aging, ok := style.(AgingStyle); ok {
		return dst, aging.Until()
	}
	return dst, time.Time{}
}

// EventsAhead is a run as ADDED events, whose frames do not depend on what was sent before: Whole or Partial. It is
// made if there is none; nil when the run is better sent event by event.
func EventsAhead(forms *Forms, shape Shape, form Form, r Run, now time.Time) *Deflated {
	if forms == nil || forms.budget == 0 || r.Page.Forms() == nil || form.Kind == Row || r.size() < aheadFrom {
		return nil
	}
	key, s := formKey{form: form, body: inStream, from: r.From, to: r.To}, r.Page.Forms().on(forms)
	if kept := forms.find(s, key, now); kept != nil {
		return forms.use(kept, now)
	}
	return forms.makeForm(s, key, now, func(dst []byte) ([]byte, time.Time) {
		framer := shape.Framer(form)
		for at := r.From; at < r.To; at++ {
			dst = framer.AppendEvent(dst, TypeAdded, r.Page.Item(at))
		}
		return dst, time.Time{}
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
	l.between()
	if err := l.send(); err != nil {
		return err
	}
	return l.body.member.splice(text)
}
