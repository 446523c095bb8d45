package report

// promise is what a result is held to beside its ratio. Less is better.
type promise struct {
	scenario, words string
	most            float64
	of              func(Result) float64 // 0 if it was not measured
}

// The two rules of a list that is not cheaper than it could be, and not larger than it is elsewhere.
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

// promises are the rules that were measured, and whether they hold.
func (r Results) promises() string {
	var lines [][]string
	for _, p := range promised() {
		one, _ := r.Find(p.scenario)
		value := p.of(one)
		if value == 0 {
			continue
		}
		held := "yes"
		if value > p.most {
			held = "**no**"
		}
		lines = append(lines, []string{p.words, Number(value), Number(p.most), held})
	}
	return grid([]string{"rule", "measured", "at most", "held"}, lines)
}
