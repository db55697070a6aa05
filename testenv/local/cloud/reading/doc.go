// Package reading names what AWS's documentation leaves open, and which of two readings the models in testenv/local/cloud take.
//
// A Doubt is one such assumption. Its id is that of its row in testenv/local/cloud/ASSUMPTIONS.md, and of the probe of `joiner proof` that
// asks AWS itself. Unless something else is said a model takes the default, which is the stricter one for Joiner; of delays it is the
// short one, for otherwise every test would wait.
//
// The other reading is chosen by code, for one model, or by the environment, for every model of a process:
//
//	m := ec2.New(ec2.Options{Clock: clock.System(), Readings: reading.Other(reading.RunInstancesTags)})
//
//	JOINER_READINGS=all=other go test ./cloud/...
//	JOINER_READINGS=ec2-run-instances-tags=other,s3-conditional-conflict=default make up
package reading
