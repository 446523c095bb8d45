// Package plot draws bar charts and line charts as SVG. A bar chart has groups of horizontal bars on a logarithmic
// scale, with one bar for each series. A line chart has two logarithmic axes. The image has its own background and
// follows the reader's preference for light or dark. The package does not depend on the meaning of the values, and
// starts no goroutine.
package plot
