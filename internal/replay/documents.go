package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/discovery"
	"github.com/listfacade/listfacade/internal/journal"
)

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"

// documents are the recorded documents that are valid at the replayed time. Safe for concurrent use.
type documents struct {
	dir     string
	present atomic.Pointer[[]journal.Document]
}

func readDocuments(ctx context.Context, dir string, at time.Time) (*documents, error) {
	d := &documents{dir: dir}
	return d, d.read(ctx, at)
}

func (d *documents) read(ctx context.Context, at time.Time) error {
	all, err := journal.DocumentsAt(ctx, d.dir, at)
	if err != nil {
		return fmt.Errorf("read documents: %w", err)
	}
	d.present.Store(&all)
	return nil
}

func (d *documents) find(path string) []journal.Document {
	all := *d.present.Load()
	first, _ := slices.BinarySearchFunc(all, path, func(one journal.Document, path string) int {
		return strings.Compare(one.Path, path)
	})
	last := first
	for last < len(all) && all[last].Path == path {
		last++
	}
	return all[first:last]
}

// discover implements discovery.Ask.
func (d *documents) discover(_ context.Context, path, _ string) ([]byte, error) {
	found := d.find(path)
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: %s", discovery.ErrNotFound, path)
	}
	return found[0].Body, nil
}

// definition returns the definition of a custom resource, or nil if it was not recorded.
func (d *documents) definition(gr schema.GroupResource) []byte {
	if found := d.find(definitionsPath + gr.String()); len(found) > 0 {
		return found[0].Body
	}
	return nil
}
