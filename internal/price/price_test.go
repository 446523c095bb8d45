package price

import (
	"os"
	"strings"
	"testing"
	"time"
)

// Columns of the table in docs/benchmarks.md.
const (
	kubeAPIServer = 1
	listfacade    = 2
)

// measuredCPU returns the CPU of a server in seconds from the table in docs/benchmarks.md, by the title of the row.
func measuredCPU(t *testing.T, server int) map[string]float64 {
	t.Helper()
	page, err := os.ReadFile("../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, " | ")
		if len(cells) < 5 || !strings.HasPrefix(line, "| ") {
			continue
		}
		text := strings.ReplaceAll(strings.TrimSpace(cells[server]), " ", "")
		if took, err := time.ParseDuration(text); err == nil {
			all[strings.TrimPrefix(cells[0], "| ")] = took.Seconds()
		}
	}
	return all
}

// agree checks that prices differ from the published figures of a server by at most a factor.
func agree(t *testing.T, server int, factor float64, prices map[string]float64) {
	t.Helper()
	measured := measuredCPU(t, server)
	for title, price := range prices {
		want, ok := measured[title]
		if !ok {
			t.Errorf("docs/benchmarks.md has no row %q", title)
			continue
		}
		if price > want*factor || price < want/factor {
			t.Errorf("%s: got %.4g s, want %.4g s, a factor of %.2f at most", title, price, want, factor)
		}
	}
}

// objects and stored are the number of pods of the benchmarks, and their bytes in storage.
const objects, stored = 20_000, 225.4e6

// share returns a list of n of these pods.
func share(n float64, e Encoding, compressed bool) List {
	return List{Objects: n, Bytes: stored * n / objects, Encoding: e, Compressed: compressed}
}

// The constants explain the published figures. A new run of the benchmarks that contradicts them fails this test.
func TestPricesAgreeWithBenchmarks(t *testing.T) {
	label := share(objects/200, JSON, true)
	label.Examined = objects
	agree(t, kubeAPIServer, 1.5, map[string]float64{
		"LIST all, JSON gzip":                                              share(objects, JSON, true).CPU(),
		"LIST all, JSON identity":                                          share(objects, JSON, false).CPU(),
		"LIST all, protobuf gzip":                                          share(objects, Protobuf, true).CPU(),
		"LIST all, protobuf identity":                                      share(objects, Protobuf, false).CPU(),
		"LIST all, Table gzip":                                             share(objects, Table, true).CPU(),
		"LIST all, metadata, JSON gzip":                                    share(objects, Metadata, true).CPU(),
		"LIST a namespace (400 pods), JSON gzip":                           share(400, JSON, true).CPU(),
		"LIST a node (40 pods), JSON":                                      share(40, JSON, false).CPU(),
		"LIST a node (40 pods), protobuf":                                  share(40, Protobuf, false).CPU(),
		"LIST a label (0.5 % of the pods), JSON gzip":                      label.CPU(),
		"A page of 500, JSON gzip":                                         share(500, JSON, true).CPU(),
		"A page of 500, Table gzip":                                        share(500, Table, true).CPU(),
		"200 watches of all pods, an event":                                200 * Event(stored/objects),
		"GET a pod, 8 clients at once":                                     Request,
		"LIST a node (40 pods), JSON, 64 clients at once":                  share(40, JSON, false).CPU(),
		"The first page of 500, consistent, JSON gzip":                     share(500, JSON, true).CPU(),
		"LIST all, JSON gzip, HTTP/1.1":                                    share(objects, JSON, true).CPU(),
		"LIST all, consistent, JSON gzip":                                  share(objects, JSON, true).CPU(),
		"The first page of 500, consistent, Table gzip":                    share(500, Table, true).CPU(),
		"LIST a node (40 pods), JSON, 8 clients at once":                   share(40, JSON, false).CPU(),
		"The first page of 500, consistent, JSON gzip, 64 clients at once": share(500, JSON, true).CPU(),
	})
}

// The same for the facade. A list without compression costs it as much for a byte in JSON as for a byte in protobuf.
func TestFacadePricesAgreeWithBenchmarks(t *testing.T) {
	agree(t, listfacade, 1.3, map[string]float64{
		"LIST all, JSON gzip":         share(objects, JSON, true).FacadeCPU(),
		"LIST all, JSON identity":     share(objects, JSON, false).FacadeCPU(),
		"LIST all, protobuf gzip":     share(objects, Protobuf, true).FacadeCPU(),
		"LIST all, protobuf identity": share(objects, Protobuf, false).FacadeCPU(),
	})
}

// The facade compresses a response from the same size on as kube-apiserver. Below it, each byte has its price.
func TestFacadePricesBytesOfSmallResponses(t *testing.T) {
	below := List{Bytes: minCompressed - 1, Compressed: true}.FacadeCPU()
	if from := (List{Bytes: minCompressed, Compressed: true}.FacadeCPU()); below <= from {
		t.Errorf("got %.4g s below the size and %.4g s from it on, want more below", below, from)
	}
}

// The bounds of sums and differences contain every combination of the true values.
func TestBoundsContainTheirCombinations(t *testing.T) {
	a, b := Bounds{1, 2, 4}, Around(3, 2)
	if got, want := a.Plus(b), (Bounds{2.5, 5, 10}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := a.Minus(b), (Bounds{-5, -1, 2.5}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := Exactly(2).Times(3), (Bounds{6, 6, 6}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}
