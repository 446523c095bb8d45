package page

import (
	"strconv"
	"time"
)

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// duration formats a duration with at most two units, for example 3m12s, 4d6h or 5s.
func duration(d time.Duration) string {
	switch {
	case d <= 0:
		return "0s"
	case d < time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + "µs"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Truncate(100*time.Millisecond).Seconds(), 'f', -1, 64) + "s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return units(int(d.Minutes()), "m", int(d.Seconds())%60, "s")
	case d < 48*time.Hour:
		return units(int(d.Hours()), "h", int(d.Minutes())%60, "m")
	}
	return units(int(d.Hours())/24, "d", int(d.Hours())%24, "h")
}

func units(large int, first string, small int, second string) string {
	if small == 0 {
		return strconv.Itoa(large) + first
	}
	return strconv.Itoa(large) + first + strconv.Itoa(small) + second
}

// size formats a number of bytes with three digits and a unit.
func size(bytes int64) string {
	value, units := float64(bytes), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for value >= 1000 && len(units) > 1 {
		value, units = value/1024, units[1:]
	}
	switch {
	case units[0] == "B":
		return strconv.FormatInt(bytes, 10) + " B"
	case value < 10:
		return strconv.FormatFloat(value, 'f', 2, 64) + " " + units[0]
	case value < 100:
		return strconv.FormatFloat(value, 'f', 1, 64) + " " + units[0]
	}
	return strconv.FormatFloat(value, 'f', 0, 64) + " " + units[0]
}

func count[N int | int64 | uint64](n N) string {
	text := strconv.FormatInt(int64(n), 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func ago(now, at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return duration(now.Sub(at)) + " ago"
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") }
