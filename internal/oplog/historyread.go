package oplog

import "time"

// Moment is one step of a History, as operators see it.
type Moment struct {
	At time.Time `json:"at"` // when it began
	// Requests that ended in this step, by source. Failed is the number of those with 5xx except 501, and Refused the
	// number of those with 429.
	Cache    int `json:"cache"`
	Upstream int `json:"upstream"`
	Facade   int `json:"facade"`
	Failed   int `json:"failed"`
	Refused  int `json:"refused"`
	// P50Seconds and P99Seconds are quantiles of the duration of requests that are not long-running, or 0 if there were
	// none. Their error is about a fifth.
	P50Seconds float64 `json:"p50Seconds"`
	P99Seconds float64 `json:"p99Seconds"`
	// Asked is the number of requests to the upstream. Unanswered is the number of those without a response, and
	// Throttled the number of those with 429.
	Asked      int `json:"asked"`
	Unanswered int `json:"unanswered"`
	Throttled  int `json:"throttled"`
	// AskedP99Seconds is the 99 % quantile of the time until the upstream began to answer, without watches and forwarded
	// requests.
	AskedP99Seconds float64 `json:"askedP99Seconds"`
	AuditLost       int     `json:"auditLost"`
}

// Moments returns the steps, oldest first. The last one has not ended.
func (h *History) Moments() []Moment {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := time.Now().Unix() / int64(HistoryStep/time.Second)
	all := make([]Moment, 0, HistorySteps)
	for number := last - HistorySteps + 1; number <= last; number++ {
		shown := Moment{At: time.Unix(number*int64(HistoryStep/time.Second), 0)}
		if m := &h.ring[number%HistorySteps]; m.number == number {
			m.show(&shown)
		}
		all = append(all, shown)
	}
	return all
}

func (m *moment) show(to *Moment) {
	to.Cache, to.Upstream, to.Facade, to.Failed, to.Refused = int(m.cache), int(m.upstream), int(m.facade), int(m.failed),
		int(m.refused)
	to.P50Seconds, to.P99Seconds = m.took.quantile(0.5).Seconds(), m.took.quantile(0.99).Seconds()
	for _, q := range m.asked {
		to.Asked += int(q.all)
		to.Unanswered += int(q.unanswered)
		to.Throttled += int(q.throttled)
	}
	to.AskedP99Seconds = m.waited.quantile(0.99).Seconds()
	to.AuditLost = int(m.lost)
}

// Question summarizes the requests of one kind to the upstream.
type Question struct {
	Request string `json:"request"`
	Count   int    `json:"count"`
	// Parts of Count: Unanswered got no response, Throttled got 429, Refused got 401 or 403, and Failed got 5xx.
	Unanswered int `json:"unanswered"`
	Throttled  int `json:"throttled"`
	Refused    int `json:"refused"`
	Failed     int `json:"failed"`
	// Time until the upstream began to answer.
	MeanSeconds    float64 `json:"meanSeconds"`
	LongestSeconds float64 `json:"longestSeconds"`
}

// Questions returns the requests to the upstream in the window, one element for each kind, in the order of the variable
// Questions.
func (h *History) Questions(window time.Duration) []Question {
	var sums [len(Questions)]questions
	h.mu.Lock()
	defer h.mu.Unlock()
	last := time.Now().Unix() / int64(HistoryStep/time.Second)
	for i := range h.ring {
		if m := &h.ring[i]; m.number > last-int64(window/HistoryStep) && m.number <= last {
			for kind, q := range m.asked {
				sums[kind].merge(q)
			}
		}
	}
	all := make([]Question, len(sums))
	for kind, q := range sums {
		all[kind] = Question{
			Request: Questions[kind], Count: int(q.all), Unanswered: int(q.unanswered), Throttled: int(q.throttled),
			Refused: int(q.refused),
			Failed:  int(q.failed), LongestSeconds: q.longest.Seconds(),
		}
		if answered := q.all - q.unanswered; answered > 0 {
			all[kind].MeanSeconds = q.took.Seconds() / float64(answered)
		}
	}
	return all
}

func (q *questions) merge(other questions) {
	q.all += other.all
	q.unanswered += other.unanswered
	q.throttled += other.throttled
	q.refused += other.refused
	q.failed += other.failed
	q.took += other.took
	q.longest = max(q.longest, other.longest)
}
