package volume

// The driver of EBS volumes, and the name of the one that was once built into Kubernetes and is served by it now.
const (
	ebsDriver  = "ebs.csi.aws.com"
	ebsBuiltIn = "kubernetes.io/aws-ebs"
)

// driverOf returns the CSI driver that does a provisioner's work.
func driverOf(provisioner string) string {
	if provisioner == ebsBuiltIn {
		return ebsDriver
	}
	return provisioner
}

// The driver of EKS Auto Mode runs on that service's own nodes only, and so does what it made.
const (
	autoDriver  = "ebs.csi.eks.amazonaws.com"
	autoZoneKey = "topology.ebs.csi.eks.amazonaws.com/zone"
)
