// Package ebscsi is a model of the EBS CSI driver (aws-ebs-csi-driver) in a cluster of testenv. Volumes are made, attached and deleted in a model
// of EC2, over the wire; nothing is mounted.
//
// It has what the driver's chart installs that others see: the CSIDriver, and the DaemonSet kube-system/ebs-csi-node. Where a pod of that runs, the
// CSINode names the driver, with the zone and the limit of volumes. For PersistentVolumeClaims of a StorageClass with the provisioner
// ebs.csi.aws.com it makes a volume and its PersistentVolume, as the driver's controller does with the sidecar external-provisioner. Attaching is
// that of `machine.Attacher`.
//
//	driver, err := ebscsi.Start(ctx, ebscsi.Options{Kube: plane, EC2: client, Cluster: "demo"})
//	if err != nil {
//		return err
//	}
//	defer driver.Stop()
//
// What the values rest on is written in ASSUMPTIONS.md.
package ebscsi
