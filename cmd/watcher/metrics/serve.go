package metrics

import (
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// ServeHTTP answers a scrape, in Prometheus's text format.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	w.Header().Set("Content-Type", string(format))
	var out io.Writer = w
	if strings.Contains(request.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		packer, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // a level there is
		defer packer.Close()
		out = packer
	}
	_ = r.Write(out) // who asked is gone
}

// Write writes everything there is to tell; its error is out's.
func (r *Recorder) Write(out io.Writer) error {
	if err := encode(out, r.itself); err != nil || !r.leading.Load() {
		return err
	}
	if err := encode(out, r.cluster); err != nil {
		return err
	}
	now := r.o.Now()
	s := states{page: &page{out: out}, rows: r.o.Rows(), now: now.Unix(), detail: r.o.Detail}
	r.mutex.Lock()
	s.shown = maps.Clone(r.shown)
	s.ofPools, s.ofClasses = maps.Clone(r.ofPools.shown), maps.Clone(r.ofClasses.shown)
	r.mutex.Unlock()
	s.write()
	seen, waited := 0.0, now.Sub(r.began).Seconds()
	if r.counting() {
		seen, waited = 1, 0
	}
	s.page.family(&synced)
	s.page.writeValue(&synced, seen)
	s.page.family(&unsynced)
	s.page.writeValue(&unsynced, waited)
	s.page.family(&queueDepth)
	s.page.writeValue(&queueDepth, float64(r.o.Waiting()), "provisioner")
	return s.page.flush()
}

// encode writes what a registry gathers.
func encode(out io.Writer, from prometheus.Gatherer) error {
	families, err := from.Gather()
	if err != nil {
		return err
	}
	encoder := expfmt.NewEncoder(out, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, family := range families {
		if err := encoder.Encode(family); err != nil {
			return err
		}
	}
	return nil
}
