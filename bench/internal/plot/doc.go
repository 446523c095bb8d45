// Package plot draws bars and curves as SVG: groups of horizontal bars on a logarithmic scale, one bar for each series,
// and lines over numbers, both axes logarithmic. The picture brings its own background and follows the reader's
// preference for light or dark. It knows nothing of what is drawn, and starts no goroutine.
package plot
