package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestTheConsoleRefusesWhatItCannotShow(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"console", "--testenv", "http://127.0.0.1:1"}, "127.0.0.1:1"},
		{[]string{"console", "-f", "testdata/nowhere.yaml"}, "nowhere.yaml"},
		{[]string{"console", "-f", "testdata/small.yaml", "--listen", "nonsense"}, "--listen"},
	} {
		var out, errs bytes.Buffer
		if status := run(c.args, strings.NewReader(""), &out, &errs); status != 2 || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%v: status %d, %s", c.args, status, errs.String())
		}
	}
}
