package reflector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"time"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/divergence"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// auditObjects is how many objects a page of the self-audit has at most, and auditBytes how many bytes about.
	auditObjects = 500
	auditBytes   = 4 << 20
	// auditLimit bounds a page in bytes; what is larger is asked for in smaller pages.
	auditLimit = 8 << 20
	// auditMemory is what a page takes for a moment: its bytes, rows and single objects.
	auditMemory = 2 * auditLimit
)

// The forms in which objects are compared.
const (
	asObject = "object"
	asRow    = "row"
)

// auditPage is a page of objects as the upstream has them at the version of a State, and what differs in it.
type auditPage struct {
	reflector *Reflector
	by        *listWatch // of the epoch
	state     *cache.State
	behind    string // the key that it begins behind; empty at the beginning
	limit     int
	rowless   bool // rows are not compared

	compared    divergence.Compared
	differences []divergence.Difference
	next        string // the key that the next page begins behind; empty when this was the last one
}

// read asks for the page, at exactly the State's version, and compares it.
func (p *auditPage) read(ctx context.Context, client *upstream.Client) error {
	ask, precompressed := p.by.ask, []string{asObject, asRow}
	if p.rowless || !p.state.Shape().Prints() {
		asks := p.reflector.Encoding.Asks()
		ask, precompressed = asks[len(asks)-1], precompressed[:1]
	}
	pages := p.reflector.Encoding.Pages(p.by.about, ask, pathsOf(p.by.kind))
	if pages.Rows != nil {
		if err := p.rows(ctx, client, pages); err != nil {
			return err
		}
	}
	var body bytes.Buffer
	if err := client.GetInto(ctx, p.target(&pages.Objects), pages.Objects.Accept, auditLimit, &body); err != nil {
		return err
	}
	return p.compare(pages.Reader, body.Bytes(), precompressed)
}

// rows reads what is printed of the page's objects.
func (p *auditPage) rows(ctx context.Context, client *upstream.Client, pages wire.Pages) error {
	var body bytes.Buffer
	if err := client.GetInto(ctx, p.target(pages.Rows), pages.Rows.Accept, auditLimit, &body); err != nil {
		return err
	}
	head, err := pages.Reader.Rows(body.Bytes())
	if err == nil && p.state.Shape().Reprinted(head.Columns) {
		err = errReprinted
	}
	return err
}

// target is the page. A continue token says where in a version a list goes on, and anybody who knows key and version
// can write one: no token of an earlier page would be good for so long.
func (p *auditPage) target(ask *wire.Ask) upstream.Target {
	query := url.Values{"limit": {strconv.Itoa(p.limit)}}
	rv := p.state.RV()
	if p.behind == "" {
		query.Set("resourceVersion", rv.String())
		query.Set("resourceVersionMatch", "Exact")
	} else {
		query.Set("continue", upstream.ContinueBehind(int64(rv), p.behind, styleOf(p.reflector.Resource)))
	}
	for name, value := range ask.Query {
		query.Set(name, value)
	}
	return upstream.Target{Path: p.reflector.Resource.Path(""), Query: query}
}

// errLooked ends the reading of a page that is of no more use.
var errLooked = errors.New("looked at")

// compare compares the page with the State.
func (p *auditPage) compare(reader wire.PageReader, body []byte, precompressed []string) (err error) {
	shape, now := p.state.Shape(), time.Now()
	in := func(it *wire.Item) func([]byte, string) []byte {
		return func(dst []byte, representation string) []byte {
			if representation == asRow {
				return shape.AppendObject(dst, wire.Representation{Kind: wire.Row, Meta: wire.MetaV1, Include: wire.IncludeNone}, it, now)
			}
			return shape.AppendObject(dst, wire.Representation{Kind: wire.Whole}, it, now)
		}
	}
	ours := func(yield func(divergence.Object) bool) {
		for o := range p.state.Objects(p.span()) {
			if !yield(divergence.Object{Key: o.Key(), Version: o.RV.String(), Append: in(o.Item())}) {
				return
			}
		}
	}
	var head wire.ListHead
	var readErr error
	theirs := iter.Seq[divergence.Object](func(yield func(divergence.Object) bool) {
		head, readErr = reader.Objects(body, func(it wire.Item, facts wire.Facts) error {
			if !yield(divergence.Object{Key: keyOf(&facts), Version: facts.ResourceVersion, Append: in(&it)}) {
				return errLooked
			}
			return nil
		})
	})
	whole := func() bool {
		return readErr == nil && head.Continue == "" && head.ResourceVersion == p.state.RV().String()
	}
	p.compared, err = divergence.Compare(precompressed, ours, theirs, whole, p.note)
	switch {
	case err != nil:
		return fmt.Errorf("compare a page: %w", err)
	case readErr != nil:
		return fmt.Errorf("read a page: %w", readErr)
	case head.ResourceVersion != p.state.RV().String():
		return fmt.Errorf("read a page: it is of the resourceVersion %q instead of %s", head.ResourceVersion, p.state.RV())
	case reader.Rest() > 0:
		return fmt.Errorf("read a page: %w", wire.ErrUnaligned)
	case head.Continue != "" && p.compared.Last == "":
		return errors.New("read a page: one without objects is not the last")
	case head.Continue != "":
		p.next = p.compared.Last
	}
	return nil
}

// span is where the page's objects are in the State, and those behind them.
func (p *auditPage) span() cache.Span {
	if p.behind == "" {
		return cache.Span{}
	}
	return cache.Span{From: p.behind + "\x00"}
}

// note keeps a difference. What is in secrets is nobody's to read, should an operator have them cached.
func (p *auditPage) note(d divergence.Difference) {
	if isSecret(p.reflector.Resource) {
		d.Hide()
	}
	p.differences = append(p.differences, d)
}

func isSecret(r upstream.Resource) bool {
	return r.GVR == schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
}

// keyOf is an object's key in a lane.
func keyOf(f *wire.Facts) string {
	if f.Namespace == "" {
		return f.Name
	}
	return f.Namespace + "/" + f.Name
}
