# expect: pass
import asyncio


async def part(x):
    await asyncio.sleep(0.001)
    return x


async def both(a, b):
    queue = asyncio.Queue()
    async with asyncio.timeout(5):
        for x in await asyncio.gather(part(a), asyncio.to_thread(lambda: b)):
            await queue.put(x)
    return await queue.get() + await queue.get()


def add(a, b):
    return asyncio.run(both(a, b))
