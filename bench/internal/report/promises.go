package report

// promise is an upper limit for a figure of a result, in addition to the required ratio.
type promise struct {
	scenario, words string
	most            float64
	of              func(Result) float64 // 0 if it was not measured
}

// promised returns the limits for CPU, relative to the file server, and for the size of a list, relative to
// kube-apiserver.
func promised() []promise {
	bytes := func(r Result) float64 {
		if r.Direct == nil || r.Facade == nil || r.Direct.Bytes == 0 {
			return 0
		}
		return float64(r.Facade.Bytes) / float64(r.Direct.Bytes)
	}
	return []promise{
		{"list-json-gzip", "LIST all, JSON gzip: CPU as a multiple of the file server's", 1.5, Result.OverFiles},
		{"list-protobuf-gzip", "LIST all, protobuf gzip: CPU as a multiple of the file server's", 1.5, Result.OverFiles},
		{"list-json-gzip", "LIST all, JSON gzip: bytes as a share of kube-apiserver's", 0.5, bytes},
		{"list-protobuf-gzip", "LIST all, protobuf gzip: bytes as a share of kube-apiserver's", 0.5, bytes},
	}
}

// promises returns a table with the measured value of each limit, the limit, and whether the value meets it.
func (r Results) promises() string {
	var lines [][]string
	for _, p := range promised() {
		one, _ := r.Find(p.scenario)
		value := p.of(one)
		if value == 0 {
			continue
		}
		met := "yes"
		if value > p.most {
			met = "**no**"
		}
		lines = append(lines, []string{p.words, Number(value), Number(p.most), met})
	}
	return grid([]string{"rule", "measured", "at most", "met"}, lines)
}
