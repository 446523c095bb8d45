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
	// auditObjects is the maximum number of objects in a page of the self-audit. auditBytes is the approximate size of a
	// page, in bytes.
	auditObjects = 500
	auditBytes   = 4 << 20
	// auditLimit is the maximum size of a page in bytes. A larger page is requested in smaller parts.
	auditLimit = 8 << 20
	// auditMemory is the memory that the comparison of a page needs: its bytes, rows and single objects.
	auditMemory = 2 * auditLimit
)

const (
	asObject = "object"
	asRow    = "row"
)

// auditPage is a page of the upstream's objects at the version of a State, with the differences found.
type auditPage struct {
	reflector *Reflector
	by        *listWatch // listWatch of the epoch
	state     *cache.State
	after     string // last key of the previous page; empty at the beginning
	limit     int
	rowless   bool // whether rows are not compared

	compared    divergence.Compared
	differences []divergence.Difference
	next        string // last key of this page; empty if there is no further page
}

// read requests the page at exactly the State's version, and compares it.
func (p *auditPage) read(ctx context.Context, client *upstream.Client) error {
	ask, representations := p.by.ask, []string{asObject, asRow}
	if p.rowless || !p.state.Shape().Prints() {
		asks := p.reflector.Encoding.RequestFormats()
		ask, representations = asks[len(asks)-1], representations[:1]
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
	return p.compare(pages.Reader, body.Bytes(), representations)
}

// rows reads the rows of the page's objects. It returns errReprinted if the columns have changed.
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

// target returns the request for the page. It makes the continue token itself, from the key and the version, because a
// token of an earlier page would have expired.
func (p *auditPage) target(ask *wire.RequestFormat) upstream.Target {
	query := url.Values{"limit": {strconv.Itoa(p.limit)}}
	rv := p.state.RV()
	if p.after == "" {
		query.Set("resourceVersion", rv.String())
		query.Set("resourceVersionMatch", "Exact")
	} else {
		query.Set("continue", upstream.ContinueBehind(int64(rv), p.after, styleOf(p.reflector.Resource)))
	}
	for name, value := range ask.Query {
		query.Set(name, value)
	}
	return upstream.Target{Path: p.reflector.Resource.Path(""), Query: query}
}

var errLooked = errors.New("page no longer needed")

func (p *auditPage) compare(reader wire.PageReader, body []byte, representations []string) (err error) {
	shape, now := p.state.Shape(), time.Now()
	in := func(it *wire.Item) func([]byte, string) []byte {
		return func(dst []byte, representation string) []byte {
			if representation == asRow {
				return shape.AppendObject(dst, wire.Representation{Kind: wire.Row, Meta: wire.MetaV1, Include: wire.IncludeNone},
					it, now)
			}
			return shape.AppendObject(dst, wire.Representation{Kind: wire.Whole}, it, now)
		}
	}
	laneObjects := func(yield func(divergence.Object) bool) {
		for o := range p.state.Objects(p.span()) {
			if !yield(divergence.Object{Key: o.Key(), Version: o.RV.String(), Append: in(o.Item())}) {
				return
			}
		}
	}
	var head wire.ListHead
	var readErr error
	upstreamObjects := iter.Seq[divergence.Object](func(yield func(divergence.Object) bool) {
		head, readErr = reader.Objects(body, func(it wire.Item, facts wire.Facts) error {
			if !yield(divergence.Object{Key: keyOf(&facts), Version: facts.ResourceVersion, Append: in(&it)}) {
				return errLooked
			}
			return nil
		})
	})
	complete := func() bool {
		return readErr == nil && head.Continue == "" && head.ResourceVersion == p.state.RV().String()
	}
	p.compared, err = divergence.Compare(representations, laneObjects, upstreamObjects, complete, p.note)
	switch {
	case err != nil:
		return fmt.Errorf("compare page: %w", err)
	case readErr != nil:
		return fmt.Errorf("read page: %w", readErr)
	case head.ResourceVersion != p.state.RV().String():
		return fmt.Errorf("read page: resourceVersion %q instead of %s", head.ResourceVersion, p.state.RV())
	case reader.Rest() > 0:
		return fmt.Errorf("read page: %w", wire.ErrUnaligned)
	case head.Continue != "" && p.compared.Last == "":
		return errors.New("read page: an empty page has a continue token")
	case head.Continue != "":
		p.next = p.compared.Last
	}
	return nil
}

func (p *auditPage) span() cache.Span {
	if p.after == "" {
		return cache.Span{}
	}
	return cache.Span{From: p.after + "\x00"}
}

// note stores a difference. It hides the content of Secrets, which an operator may have chosen to cache.
func (p *auditPage) note(d divergence.Difference) {
	if isSecret(p.reflector.Resource) {
		d.Hide()
	}
	p.differences = append(p.differences, d)
}

func isSecret(r upstream.Resource) bool {
	return r.GVR == schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
}

func keyOf(f *wire.Facts) string {
	if f.Namespace == "" {
		return f.Name
	}
	return f.Namespace + "/" + f.Name
}
