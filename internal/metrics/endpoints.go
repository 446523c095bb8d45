package metrics

import "github.com/prometheus/client_golang/prometheus"

// Endpoint is one address of an upstream that has several addresses.
type Endpoint struct {
	Host         string
	InUse, Ready bool
	Why          string // reason why the endpoint is not ready; empty before the first check
}

// EndpointSource returns the current endpoints.
type EndpointSource func() []Endpoint

type endpointCollector struct {
	read         EndpointSource
	inUse, ready *prometheus.Desc
}

func newEndpointCollector(read EndpointSource) *endpointCollector {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("listfacade_upstream_endpoint_"+name, help, []string{"endpoint"}, nil)
	}
	return &endpointCollector{
		read:  read,
		inUse: desc("in_use", "1 for the endpoint of the upstream that is in use, 0 for the others, by endpoint."),
		ready: desc("ready", "1 for each endpoint of the upstream that is ready and belongs to the cluster, 0 for the others, by endpoint."),
	}
}

func (c *endpointCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.inUse
	out <- c.ready
}

func (c *endpointCollector) Collect(out chan<- prometheus.Metric) {
	for _, one := range c.read() {
		out <- prometheus.MustNewConstMetric(c.inUse, prometheus.GaugeValue, oneOrZero(one.InUse), one.Host)
		out <- prometheus.MustNewConstMetric(c.ready, prometheus.GaugeValue, oneOrZero(one.Ready), one.Host)
	}
}

func oneOrZero(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
