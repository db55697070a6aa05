package main

import (
	"fmt"
	"strings"
	"testing"
)

const root = "../../.."

// M5, M15, M39: a row without a test says what is missing, and nothing else is accepted. The pages are what the tables
// make.
func TestEveryRowOfParityNamesTestsThatExist(t *testing.T) {
	for _, err := range pages.Stale(root) {
		t.Error(err)
	}
}

// numbers are how many rows there are with numbers from 1 on. Those of the AWS provider leave some numbers out.
var numbers = map[string]int{"F": 156, "A": 10, "B": 14, "C": 13, "S": 40, "R": 72, "D": 20}

var ofProvider = map[string]string{
	"NC": "01 02 05 06 08 09 10 11 12 13 14 15 16 18 19 20 21 22 23 24 26 27 28 29 31 32",
	"UD": "01 02 03 04 06 08 11", "IT": "01 03 04 05 06 07 08 09 10 11 13 14 15 16", "PR": "01 02 03 04",
	"IC": "01 02 03 04 05", "LA": "01 02 03 04 05 06 07 08 09 10 11 13 14 15 16 17 18 19", "AM": "01 02 03 04 05",
	"IN": "01 02 03 05 06 07", "CT": "01 02 03 04 05 07 08 09", "SE": "01 02", "OB": "01",
}

// M5: TestNoRowOfParityIsLeftOut counts the rows by themselves: deleting one is no way to keep the table true.
func TestNoRowOfParityIsLeftOut(t *testing.T) {
	rows, err := readRows()
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]row{}
	for _, r := range rows {
		there[r.id] = r
	}
	var want []string
	for prefix, n := range numbers {
		for i := range n {
			if prefix == "F" {
				want = append(want, fmt.Sprintf("F%03d", i+1))
			} else {
				want = append(want, fmt.Sprintf("%s%d", prefix, i+1))
			}
		}
	}
	for prefix, list := range ofProvider {
		for _, number := range strings.Fields(list) {
			want = append(want, prefix+"-"+number)
		}
	}
	for _, id := range want {
		if r, ok := there[id]; !ok || r.holds == "" {
			t.Errorf("row %s is missing, or does not say what holds", id)
		}
	}
	if len(want) != 421 || len(rows) != len(want) {
		t.Errorf("the table has %d rows, and %d are known", len(rows), len(want))
	}
}

// TestParityRefusesWhatProvesNothing tries what the generator refuses.
func TestParityRefusesWhatProvesNothing(t *testing.T) {
	there := tests{"TestA": {`func TestA(t *testing.T) { run("F001 one") }`}}
	for name, c := range map[string]struct {
		row   row
		wrong string
	}{
		"a test":                {row{id: "F001", tests: []string{"TestA"}}, ""},
		"cases of a test":       {row{id: "F001", tests: []string{"TestA/F001"}}, ""},
		"what is missing":       {row{id: "F001", missing: "all"}, ""},
		"no test":               {row{id: "F001"}, "has no test"},
		"a test that is not":    {row{id: "F001", tests: []string{"TestB"}}, "no such test"},
		"the beginning of one":  {row{id: "F001", tests: []string{"Test"}}, "no such test"},
		"cases that are not":    {row{id: "F001", tests: []string{"TestA/F002"}}, "no such test"},
		"cases without a name":  {row{id: "F001", tests: []string{"TestA/"}}, "no such test"},
		"a row of no section":   {row{id: "Z1", tests: []string{"TestA"}}, "no section"},
		"an id that is no such": {row{id: "F", tests: []string{"TestA"}}, "no section"},
	} {
		err := check([]row{c.row}, there)
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v, want %q", name, err, c.wrong)
		}
	}
	if err := check([]row{{id: "A1", missing: "x"}, {id: "A1", missing: "x"}}, there); err == nil {
		t.Error("a row that is there twice is accepted")
	}
}

// A field that is honored or written names tests that exist, at least one.
func TestFieldsNeedTests(t *testing.T) {
	there := tests{"TestA": {"func TestA(t *testing.T) {}"}, "TestB": {"func TestB(t *testing.T) {}"}}
	for names, want := range map[string]string{
		"TestA": "`TestA`", "TestA TestB": "`TestA`, `TestB`", "": "", "TestC": "", "TestA TestC": "",
	} {
		cell, err := there.proofOf(names)
		if cell != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", names, cell, err)
		}
	}
}
