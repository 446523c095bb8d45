package metrics

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/listfacade/listfacade/internal/observe"
)

// component is the label value of the facade's series. kube-apiserver's series of the same name have another value.
const component = "listfacade"

// requestMetrics count requests that have ended. The facade's own metrics add the source of the response, and the
// reason why a request was forwarded.
type requestMetrics struct {
	total     *prometheus.CounterVec   // apiserver_request_total
	durations *prometheus.HistogramVec // apiserver_request_duration_seconds
	sli       *prometheus.HistogramVec // apiserver_request_sli_duration_seconds; nil unless it is exposed
	sizes     *prometheus.HistogramVec // apiserver_response_sizes

	answers   *prometheus.CounterVec
	forwarded *prometheus.CounterVec
	took      *prometheus.HistogramVec
	bytes     *prometheus.CounterVec
	stalled   *prometheus.CounterVec
	displaced prometheus.Counter
	yielded   prometheus.Counter

	mu     sync.RWMutex // guards series
	series map[requestKey]*requestSeries
}

// requestSeries are the series that count a request. A nil series does not count the request.
type requestSeries struct {
	total, answers, forwarded, bytes, stalled prometheus.Counter
	duration, sli, sizes, took                prometheus.Observer
}

// durationBuckets are the buckets of kube-apiserver's histograms of durations. kube-apiserver's histogram for service
// level objectives begins with the third bucket.
var durationBuckets = []float64{
	0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
}

func newRequestMetrics() *requestMetrics {
	return &requestMetrics{
		total: kubeCounter("request_total",
			"Requests answered from any source, refused ones included, by verb, resource, scope and status code.",
			"verb", "dry_run", "group", "version", "resource", "subresource", "scope", "code"),
		durations: kubeHistogram("request_duration_seconds", "Duration of requests in seconds; for watches, their lifetime.",
			durationBuckets,
			"verb", "dry_run", "group", "version", "resource", "subresource", "scope"),
		sizes: kubeHistogram("response_sizes", "Size of response bodies of GET and LIST in bytes, after compression.",
			prometheus.ExponentialBuckets(1000, 10, 7), "verb", "group", "version", "resource", "subresource", "scope"),
		answers: counter("requests_total", "Requests answered, by source: cache, upstream or facade.",
			"verb", "group", "version", "resource", "source"),
		forwarded: counter("forwarded_requests_total",
			"Requests forwarded to the upstream, by the reason why the cache could not answer.",
			"verb", "group", "version", "resource", "reason"),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "listfacade_request_duration_seconds",
			Help:    "Duration of requests in seconds, by source; watches are not counted.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 18),
		}, []string{"verb", "source"}),
		bytes: counter("response_bytes_total", "Bytes of response bodies sent, after compression, by source.", "verb",
			"source"),
		stalled: counter("stalled_watches_total",
			"Watches that were terminated because their clients accepted no data for --write-timeout.",
			"group", "version", "resource"),
		displaced: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "listfacade_displaced_answers_total",
			Help: "Responses that were terminated to admit other responses, because too many clients accepted no data.",
		}),
		yielded: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "listfacade_displaced_watches_total",
			Help: "Watches and logs that were terminated to admit other watches, because --max-watches was reached and their callers had the most watches.",
		}),
		series: map[requestKey]*requestSeries{},
	}
}

func newSLI() *prometheus.HistogramVec {
	return kubeHistogram("request_sli_duration_seconds", "Duration of requests in seconds, without the time in queues.",
		durationBuckets[2:],
		"verb", "group", "version", "resource", "subresource", "scope")
}

func kubeCounter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "apiserver_" + name, Help: help,
		ConstLabels: componentLabel}, labels)
}

func kubeHistogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "apiserver_" + name, Help: help, Buckets: buckets, ConstLabels: componentLabel,
	}, labels)
}

var componentLabel = prometheus.Labels{"component": component}

func (r *requestMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{r.total, r.durations, r.sizes, r.answers, r.forwarded, r.took, r.bytes, r.stalled,
		r.displaced, r.yielded}
}

// done counts a request. It allocates memory only for the first request with its labels.
func (r *requestMetrics) done(e *observe.Event) {
	s := r.of(keyOf(e))
	s.total.Inc()
	s.answers.Inc()
	seconds := e.Took.Seconds()
	s.duration.Observe(seconds)
	s.bytes.Add(float64(e.Bytes))
	if s.forwarded != nil {
		s.forwarded.Inc()
	}
	if s.sizes != nil {
		s.sizes.Observe(float64(e.Bytes))
	}
	if e.Stalled && s.stalled != nil {
		s.stalled.Inc()
	}
	if e.Displaced {
		r.displaced.Inc()
	}
	if e.Yielded {
		r.yielded.Inc()
	}
	if s.took != nil {
		s.took.Observe(seconds)
	}
	if s.sli != nil {
		s.sli.Observe((e.Took - e.Waits[observe.Queueing]).Seconds())
	}
}

func (r *requestMetrics) of(key requestKey) *requestSeries {
	r.mu.RLock()
	s := r.series[key]
	r.mu.RUnlock()
	if s != nil {
		return s
	}
	key = key.clone() // the strings of the original share memory with the request
	s = r.make(key)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.series[key] = s
	return s
}

func (r *requestMetrics) make(k requestKey) *requestSeries {
	const noDryRun = ""
	source := string(k.source)
	s := &requestSeries{
		total: r.total.WithLabelValues(k.verb, noDryRun, k.group, k.version, k.resource, k.subresource, k.scope,
			codeLabel(k.code)),
		duration: r.durations.WithLabelValues(k.verb, noDryRun, k.group, k.version, k.resource, k.subresource, k.scope),
		answers:  r.answers.WithLabelValues(k.read, k.group, k.version, k.resource, source),
		bytes:    r.bytes.WithLabelValues(k.read, source),
	}
	if k.verb == verbGet || k.verb == verbList {
		s.sizes = r.sizes.WithLabelValues(k.verb, k.group, k.version, k.resource, k.subresource, k.scope)
	}
	if r.sli != nil {
		s.sli = r.sli.WithLabelValues(k.verb, k.group, k.version, k.resource, k.subresource, k.scope)
	}
	if k.read == readWatch {
		s.stalled = r.stalled.WithLabelValues(k.group, k.version, k.resource)
	} else {
		s.took = r.took.WithLabelValues(k.read, source)
	}
	if k.source == observe.FromUpstream {
		s.forwarded = r.forwarded.WithLabelValues(k.read, k.group, k.version, k.resource, string(k.reason))
	}
	return s
}

// Answered returns how many requests a source has answered: cache, upstream or facade.
func (m *Metrics) Answered(source string) int {
	series := make(chan prometheus.Metric)
	go func() { defer close(series); m.requests.answers.Collect(series) }()
	answered := 0.0
	for one := range series {
		var read dto.Metric
		if err := one.Write(&read); err != nil {
			continue // counters never fail
		}
		for _, label := range read.GetLabel() {
			if label.GetName() == "source" && label.GetValue() == source {
				answered += read.GetCounter().GetValue()
			}
		}
	}
	return int(answered)
}

func (k requestKey) clone() requestKey {
	for _, s := range []*string{&k.group, &k.version, &k.resource, &k.subresource} {
		*s = strings.Clone(*s)
	}
	return k
}
