package timeline

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/journal"
)

// BenchmarkDiff compares two moments of 2,000 objects of 15 KB, of which some changed.
func BenchmarkDiff(b *testing.B) {
	for _, changed := range []int{10, 2000} {
		b.Run(fmt.Sprintf("changed=%d", changed), func(b *testing.B) {
			j, dir := tempJournal(b)
			l := newLane(b, j, "configmaps..v1.json", configMaps, "ConfigMapList")
			text := func(i int, rv uint64) string {
				var data strings.Builder
				for n := range 150 {
					fmt.Fprintf(&data, `"field-%d":"the value %d of the field with this number, which is %d characters long",`, n, n*i, n)
				}
				return configMap("shop", fmt.Sprint("object-", i), fmt.Sprint("uid-", i), rv, data.String()+fmt.Sprintf(`"last":"%d"`, rv))
			}
			l.pack(text(1, 1), text(2, 1), text(3, 1), text(4, 1))
			for i := range 2000 {
				l.put(text(i, 90))
			}
			l.begin(100, journal.Position{})
			for i := range changed {
				l.upsert(text(i, 101+uint64(i)))
			}
			o := table(dir, "100", "100000")
			for b.Loop() {
				if err := o.diff(b.Context(), nil, now, io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
