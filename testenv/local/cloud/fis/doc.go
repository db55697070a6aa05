// Package fis is a model of AWS Fault Injection Service as far as it has EC2 take spot instances back: templates of experiments, and
// experiments, whose only action is aws:ec2:send-spot-instance-interruptions. What else it does is refused, never ignored.
//
//	m := fis.New(fis.Options{Clock: clock.System(), Instances: ec2Model})
//	c.Register("fis", fis.NewHandler(m))
package fis
