package cache

// Oldest returns the smallest RV from which a watch can start. It returns false when the lane has no State.
func (l *Lane) Oldest() (RV, bool) {
	s, err := l.State()
	if err != nil {
		return 0, false
	}
	return s.epoch.history.oldest(), true
}

// Continues reports whether a watch can start at an RV: history has every event above the RV, and the RV is not inside
// a lost window. A watch may also start at an RV that the lane has not reached.
func (l *Lane) Continues(rv RV) bool {
	s, err := l.State()
	if err != nil {
		return false
	}
	_, err = s.epoch.history.before(rv)
	return err == nil
}

// Epochs returns the number of epochs that have begun.
func (l *Lane) Epochs() uint64 { return l.counters.relists.Load() }
