package reflector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/upstream"
)

const (
	mediaPartialList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
	// rollCallLimit bounds an answer in bytes: 16 KiB of metadata for each object. What is longer costs more than it
	// proves.
	rollCallLimit = 8 << 20
)

// source asks the upstream what proves lanes of a resource fresh. It implements fresh.Source, and so has nothing but
// what can be compared.
type source struct {
	client   *upstream.Client
	resource upstream.Resource
}

// ResourceVersion implements fresh.Source.
func (s source) ResourceVersion(ctx context.Context) (cache.RV, error) {
	version, err := s.client.ResourceVersion(ctx, s.resource)
	if err != nil {
		return 0, err
	}
	return cache.ParseRV(version)
}

// CallRoll implements fresh.Source. A list without a resourceVersion is a consistent read (semantics 2.1).
func (s source) CallRoll(ctx context.Context) (*fresh.RollCall, error) {
	body, err := s.client.Get(ctx, upstream.Target{Path: s.resource.Path("")}, mediaPartialList, rollCallLimit)
	var oversize *upstream.OversizeError
	if upstream.HasCode(err, http.StatusNotAcceptable, http.StatusBadRequest) || errors.As(err, &oversize) {
		return nil, fmt.Errorf("%w: %w", fresh.ErrUnsupported, err)
	}
	if err != nil {
		return nil, err
	}
	return readRoll(body)
}

func readRoll(body []byte) (*fresh.RollCall, error) {
	type meta struct{ Namespace, Name, ResourceVersion, Continue string }
	var list struct {
		Metadata meta
		Items    []struct{ Metadata meta }
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	rv, err := cache.ParseRV(list.Metadata.ResourceVersion)
	if err != nil {
		return nil, err
	}
	if rv == 0 || list.Metadata.Continue != "" {
		return nil, fmt.Errorf("the list at %q is not whole", list.Metadata.ResourceVersion)
	}
	call := &fresh.RollCall{RV: rv, Versions: make(map[string]cache.RV, len(list.Items))}
	for _, item := range list.Items {
		key := item.Metadata.Name
		if item.Metadata.Namespace != "" {
			key = item.Metadata.Namespace + "/" + key
		}
		if call.Versions[key], err = cache.ParseRV(item.Metadata.ResourceVersion); err != nil {
			return nil, err
		}
	}
	return call, nil
}
