package main

import (
	"testing"
	"time"
)

func TestQuantile(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[99-i] = i + 1
	}
	for _, test := range []struct {
		values []int
		q      float64
		want   int
	}{
		{hundred, 0.5, 50}, {hundred, 0.99, 99}, {hundred, 1, 100}, {hundred, 0, 1},
		{[]int{7}, 0.5, 7}, {[]int{3, 1, 2}, 0.5, 2}, {[]int{4, 3, 2, 1}, 0.5, 2}, {[]int{4, 3, 2, 1}, 0.75, 3},
	} {
		if got := quantile(test.values, test.q); got != test.want {
			t.Errorf("quantile %g of %v is %d, not %d", test.q, test.values, got, test.want)
		}
	}
}

func TestTable(t *testing.T) {
	var report table
	report.addBytes("memory", 300e6, 150_000)
	q := question{name: "LIST", encoding: "gzip", protocol: http2}
	report.addCosts(q, costs{
		direct: []cost{{cpu: 3 * time.Second, wall: 4 * time.Second, bytes: 5e6}, {cpu: 2 * time.Second, wall: 5 * time.Second, bytes: 5e6}},
		facade: []cost{{cpu: 2 * time.Millisecond, wall: 1500 * time.Microsecond, bytes: 4e6}},
	})
	report.addDelays(delays{
		direct: []time.Duration{time.Millisecond}, facade: []time.Duration{500 * time.Microsecond}, added: []time.Duration{-500 * time.Microsecond},
	})
	const want = `| scenario | kube-apiserver | listfacade | ratio |
|---|---:|---:|---:|
| memory | 300.0 MB | 150.0 kB | 2000 |
| LIST, gzip, HTTP/2: server CPU | 2.00 s [2.00 s, 3.00 s] | 2.00 ms [2.00 ms, 2.00 ms] | 1000 |
| LIST, gzip, HTTP/2: time | 4.00 s for 5.0 MB | 1.50 ms for 4.0 MB | 2667 |
| PATCH sent until a WATCH of all pods has the event, median of 1 | 1.00 ms | 500 µs | -0.50 ms |
| PATCH sent until a WATCH of all pods has the event, 99th percentile of 1 | 1.00 ms | 500 µs | -0.50 ms |
| PATCH sent until a WATCH of all pods has the event, maximum of 1 | 1.00 ms | 500 µs | -0.50 ms |
`
	if got := report.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
