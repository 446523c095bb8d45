package metrics

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// Operators must be informed of every change of a name here.
func TestSplitNames(t *testing.T) {
	m := NewSplit(func() []SplitTarget { return []SplitTarget{{Target: "facade", Host: "a:443", Ready: true}} },
		func() []Certificate { return []Certificate{{Name: "serving", NotAfter: time.Unix(1, 0)}} })
	m.Request("facade", "read", "watch")
	m.Request("kube-apiserver", "not-a-get", "request")()
	m.Failed("facade")
	m.FellBack("watch")
	m.Refused("large")
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "listfacade_") {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			value := metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			got = append(got, fmt.Sprintf("%s %s %v", strings.TrimPrefix(family.GetName(), "listfacade_"), strings.Join(labels, ","), value))
		}
	}
	slices.Sort(got)
	want := []string{
		"certificate_expiration_timestamp_seconds serving 1",
		"split_fallback_requests_total request 0",
		"split_fallback_requests_total watch 1",
		"split_refused_requests_total busy 0",
		"split_refused_requests_total certificate 0",
		"split_refused_requests_total large 1",
		"split_requests_in_flight request,kube-apiserver 0",
		"split_requests_in_flight watch,facade 1",
		"split_requests_total not-a-get,kube-apiserver 1",
		"split_requests_total read,facade 1",
		"split_target_failures_total facade 1",
		"split_target_failures_total kube-apiserver 0",
		"split_target_ready a:443,facade 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}
