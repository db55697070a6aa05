package oracle

import "testing"

// TestF095DevicesAreThoseOfKubeScheduler compares pods that claim devices with kube-scheduler's plugin for them, pair
// by pair, and binds plans to nodes by it.
func TestF095DevicesAreThoseOfKubeScheduler(t *testing.T) {
	report, err := Devices{Claims: 1000}.Run()
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range report.Findings[:min(len(report.Findings), 20)] {
		t.Error(finding)
	}
	t.Logf("%d findings; %+v", len(report.Findings), *report)
	if report.Accept*10 < report.Pairs || report.Accept*10 > 9*report.Pairs || report.New < 25 ||
		report.Placed-report.New < 50 || report.Extended < 100 {
		t.Errorf("the draw is lopsided: %d of %d pairs accepted, %d pods placed, %d of them on new nodes, "+
			"%d extended resources", report.Accept, report.Pairs, report.Placed, report.New, report.Extended)
	}
}
