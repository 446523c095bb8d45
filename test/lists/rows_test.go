package lists

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/jsonwire"
)

// apart are the kinds whose rows are not put beside their objects: Tables of FlowSchemas are sorted, and those of
// StorageVersionMigrations have no column that is said to hold names.
var apart = []string{"flowschemas.flowcontrol.apiserver.k8s.io", "storageversionmigrations.storagemigration.k8s.io"}

// rowed is a kind whose rows are joined with its objects.
type rowed struct {
	schema.GroupVersionResource
	kind string
}

// For every kind of a real kube-apiserver, the test joins a plain list with a Table without objects, as a lane does.
// The result must equal kube-apiserver's Table with complete objects, byte by byte.
func TestRowsOfEveryKind(t *testing.T) {
	cluster := suite.Furnished(t)
	config, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	asker, err := testkit.NewAsker(config)
	if err != nil {
		t.Fatal(err)
	}
	var unaligned []string
	compared, empty := 0, 0
	for _, kind := range rowedKinds(t, discovery.NewDiscoveryClientForConfigOrDie(config)) {
		n, err := compareRows(t, asker, kind)
		switch {
		case errors.Is(err, wire.ErrUnaligned):
			unaligned = append(unaligned, kind.GroupResource().String())
		case err != nil:
			t.Errorf("%s: %v", kind, err)
		case n == 0:
			empty++
		default:
			compared++
		}
	}
	slices.Sort(unaligned)
	if got := slices.Compact(unaligned); settings.Upstream() == "" && !slices.Equal(got, apart) {
		t.Errorf("rows are not put beside objects for %v, want %v", got, apart)
	}
	if compared < 40 && settings.Upstream() == "" {
		t.Errorf("compared %d kinds, %d without objects", compared, empty)
	}
	t.Logf("compared %d kinds, %d without objects", compared, empty)
}

// rowedKinds returns all kinds that can be listed and watched.
func rowedKinds(t *testing.T, discover discovery.DiscoveryInterface) []rowed {
	t.Helper()
	_, lists, err := discover.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	var all []rowed
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			if slices.Contains(resource.Verbs, "list") && slices.Contains(resource.Verbs, "watch") {
				all = append(all, rowed{GroupVersionResource: gv.WithResource(resource.Name), kind: resource.Kind})
			}
		}
	}
	return all
}

// compareRows compares a kind and returns the number of objects. The error is wire.ErrUnaligned if rows and objects
// have different orders.
func compareRows(t *testing.T, asker *testkit.Asker, kind rowed) (int, error) {
	t.Helper()
	path := suite.Collection(kind.GroupVersionResource, "")
	plain, err := read(t, asker, path, suite.AcceptJSON)
	if err != nil {
		return 0, err
	}
	style, err := jsonwire.LearnStyle(plain)
	if err != nil {
		return 0, err
	}
	version, err := jsonwire.ListVersion(plain)
	if err != nil {
		return 0, err
	}
	encoding := jsonwire.Encoding{}
	ask := encoding.RequestFormats()[0]
	description := wire.Description{
		Resource: kind.GroupVersionResource, Kind: kind.GroupVersion().WithKind(kind.kind), ListKind: style.ListKind, Custom: style.Custom,
	}
	exact := path + "?resourceVersionMatch=Exact&resourceVersion=" + version + "&includeObject="
	rows, err := read(t, asker, exact+"None", ask.Accept)
	if err != nil {
		return 0, err
	}
	whole, err := read(t, asker, exact+"Object", ask.Accept)
	if err != nil {
		return 0, err
	}
	pages := encoding.Pages(description, ask, nil)
	head, err := pages.Reader.Rows(rows)
	if err != nil {
		return 0, err
	}
	shape, err := encoding.Shape(description).WithColumns(head.Columns)
	if err != nil {
		return 0, err
	}
	var got, want []string
	now := time.Now() // ages move on between two answers
	printed := func(into *[]string) func(wire.Item, wire.Facts) error {
		return func(it wire.Item, _ wire.Facts) error {
			representation := wire.Representation{Kind: wire.Row, Meta: wire.MetaV1, Include: wire.IncludeObject}
			*into = append(*into, string(shape.AppendObject(nil, representation, &it, now)))
			return nil
		}
	}
	if _, err := pages.Reader.Objects(plain, printed(&got)); err != nil {
		return 0, err
	}
	if _, err := encoding.Reader(description, ask, nil).List(whole, printed(&want)); err != nil {
		return 0, err
	}
	if !slices.Equal(want, got) || pages.Reader.Rest() > 0 {
		return 0, fmt.Errorf("%d rows are left over (-of the Table with objects +of both):\n%s", pages.Reader.Rest(), cmp.Diff(want, got))
	}
	return len(got), nil
}

func read(t *testing.T, asker *testkit.Asker, path, accept string) ([]byte, error) {
	t.Helper()
	answer, err := asker.Ask(t.Context(), testkit.Question{Path: path, Header: http.Header{"Accept": {accept}}})
	if err != nil {
		return nil, err
	}
	if answer.Code != http.StatusOK {
		return nil, fmt.Errorf("%s: %d %s", path, answer.Code, answer.Body)
	}
	return answer.Body, nil
}
