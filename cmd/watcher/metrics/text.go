package metrics

import (
	"io"
	"strconv"
)

// page writes samples in Prometheus's text format, some at a time. Source: "Exposition formats" in the documentation of
// Prometheus.
type page struct {
	out  io.Writer
	text []byte

	labels []byte // of one sample, to be written over by the next

	err error // the first; nothing is written after it
}

const pageBytes = 32 << 10

// family begins the samples of one.
func (p *page) family(f *Family) {
	p.text = append(p.text, "# HELP "+f.Name+" "+f.Means+"\n# TYPE "+f.Name+" "+f.Type+"\n"...)
}

// sample writes one value, with labels as labeled wrote them.
func (p *page) sample(f *Family, labels []byte, value float64) {
	p.text = append(p.text, f.Name...)
	if len(labels) > 0 {
		p.text = append(append(append(p.text, '{'), labels...), '}')
	}
	p.text = append(strconv.AppendFloat(append(p.text, ' '), value, 'g', -1, 64), '\n')
	if len(p.text) >= pageBytes {
		p.flush()
	}
}

// flush writes what was not yet, and returns the first error.
func (p *page) flush() error {
	if p.err == nil && len(p.text) > 0 {
		_, p.err = p.out.Write(p.text)
	}
	p.text = p.text[:0]
	return p.err
}

// labeled appends a label to others.
func labeled(labels []byte, name, value string) []byte {
	if len(labels) > 0 {
		labels = append(labels, ',')
	}
	labels = append(append(labels, name...), '=', '"')
	for i := range len(value) {
		switch c := value[i]; c {
		case '\\', '"':
			labels = append(labels, '\\', c)
		case '\n':
			labels = append(labels, '\\', 'n')
		default:
			labels = append(labels, c)
		}
	}
	return append(labels, '"')
}

// writeValue writes one value of a family with the values of its labels.
func (p *page) writeValue(f *Family, value float64, values ...string) {
	p.labels = p.labels[:0]
	for i, v := range values {
		p.labels = labeled(p.labels, f.Labels[i], v)
	}
	p.sample(f, p.labels, value)
}

// more writes one value with labels written before and one more.
func (p *page) more(f *Family, value float64, labels []byte, name, of string) {
	p.labels = labeled(append(p.labels[:0], labels...), name, of)
	p.sample(f, p.labels, value)
}
