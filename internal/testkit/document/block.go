package document

import (
	"regexp"
	"strings"
)

// Block is consecutive indented lines of a Markdown file, or the lines between two lines of backquotes. An empty line
// ends an indented block, so that a command and its output are two blocks.
type Block struct {
	Section string // the heading above it
	Number  int    // its number in the section, from 0
	Line    int    // the number of its first line in the file, from 1
	Text    string // without the indentation of the first line, with a line feed at the end
}

// indentation is the minimal indentation of a block. Markdown requires an empty line above an indented block.
const indentation = "    "

var (
	heading = regexp.MustCompile(`^#+ +(.*\S)`)
	marker  = regexp.MustCompile("^ *(```+|~~~+)")
	// continued matches the end of a line that is continued, with the indentation of the next line.
	continued = regexp.MustCompile(`\\\n\s*`)
)

// Parse returns the blocks of a Markdown text, in their order.
func Parse(text string) []Block {
	p := scanner{empty: true}
	for line := range strings.Lines(text) {
		p.line++
		p.read(strings.TrimRight(line, "\r\n"))
	}
	p.line++
	p.end()
	return p.blocks
}

// scanner is the state of Parse after the lines that it has read.
type scanner struct {
	blocks  []Block
	section string
	number  int      // of the next block
	line    int      // number of the current line
	empty   bool     // the previous line is empty
	marker  string   // marker that ends the current block; empty unless the block began with one
	lines   []string // of the current block
}

// read handles the next line.
func (p *scanner) read(line string) {
	switch at := marker.FindStringSubmatch(line); {
	case p.marker != "" && (at == nil || !strings.HasPrefix(at[1], p.marker)):
		p.lines = append(p.lines, line)
	case p.marker != "":
		p.end()
		p.marker = ""
	case at != nil:
		p.end()
		p.marker = at[1]
	case strings.HasPrefix(line, indentation) && (p.empty || len(p.lines) > 0) && strings.TrimSpace(line) != "":
		p.lines = append(p.lines, line)
	default:
		p.end()
		if title := heading.FindStringSubmatch(line); title != nil {
			p.section, p.number = title[1], 0
		}
	}
	p.empty = strings.TrimSpace(line) == ""
}

// end ends the current block, if any. The current line is the one after the block.
func (p *scanner) end() {
	if len(p.lines) == 0 {
		return
	}
	first := p.lines[0]
	indent := first[:len(first)-len(strings.TrimLeft(first, " "))]
	var text strings.Builder
	for _, line := range p.lines {
		text.WriteString(strings.TrimPrefix(line, indent) + "\n")
	}
	p.blocks = append(p.blocks, Block{p.section, p.number, p.line - len(p.lines), text.String()})
	p.number++
	p.lines = nil
}

// Commands returns the commands of a block, each continued command as one line.
func Commands(text string) []string {
	joined := continued.ReplaceAllString(text, "")
	return strings.Split(strings.TrimSuffix(joined, "\n"), "\n")
}
