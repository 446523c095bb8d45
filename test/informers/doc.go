// Package informers runs informers of many client-go releases (test/clients) on ten thousand objects, through facades
// that restart, lose their history window, or lag. The test compiles each informer in its own module, so that informers
// and facade have only HTTP in common.
package informers
