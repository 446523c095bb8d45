package auth

// holder is a caller with open watches, which end when its service account or pod is deleted.
type holder struct {
	caller  *Caller
	watches map[*WatchAuthorization]struct{}
	missed  bool // whether the caller was missing at the last check; used by Run only
}

// holders are the callers with open watches by Caller.key. Not safe for concurrent use.
type holders map[string]*holder

func (s holders) add(w *WatchAuthorization, caller *Caller) *holder {
	h := s[caller.key]
	if h == nil {
		h = &holder{caller: caller, watches: map[*WatchAuthorization]struct{}{}}
		s[caller.key] = h
	}
	h.watches[w] = struct{}{}
	return h
}

func (s holders) remove(w *WatchAuthorization) {
	delete(w.holder.watches, w)
	if len(w.holder.watches) == 0 {
		delete(s, w.holder.caller.key)
	}
}
