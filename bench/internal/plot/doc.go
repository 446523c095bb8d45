// Package plot draws bars as SVG: groups of horizontal bars on a logarithmic scale, one bar for each series. The
// picture brings its own background and follows the reader's preference for light or dark. It knows nothing of what is
// drawn, and starts no goroutine.
package plot
