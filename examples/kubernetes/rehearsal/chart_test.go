package rehearsal

import "github.com/stretchr/testify/require"

// rehearseChart runs the workloads of the chart: the CronJob, then the shards of a night and what publishes them.
func (c *cluster) rehearseChart(secret string, want map[string]string) {
	c.heading("The chart: one pod")
	one := c.newSite("chart-one-pod", secret)
	one.prepare()
	require.Zero(c.t, one.execute("helm install growth-export chart"))
	require.Zero(c.t, one.execute(one.documented()[3]))
	_, failed := one.ended("first")
	require.Nil(c.t, failed)
	require.Equal(c.t, want, one.sums())

	c.heading("The chart: 8 shards, then publishing")
	eight := c.newSite("chart-eight-shards", secret)
	eight.prepare()
	const wait = " --wait --wait-for-jobs --timeout 10m"
	require.Zero(c.t, eight.execute("helm install night chart --set workload=shards --set date="+today+" --set shards=8 --set pods=4"+wait))
	require.Empty(c.t, eight.sums())
	require.Zero(c.t, eight.execute("helm install publish chart --set workload=publish --set date="+today+wait))
	require.Equal(c.t, want, eight.sums())
	c.say("published %d data files, with the same SHA-256 as the files of cronjob.yaml", len(want))
}

// prepare makes what the workloads need: secret, ConfigMap and volume.
func (s *site) prepare() {
	for _, command := range append(s.documented()[:2], "kubectl apply -f volume.yaml") {
		require.Zero(s.t, s.execute(command))
	}
}
